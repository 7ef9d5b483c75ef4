"""The page in a real browser: Debian's Chromium, driven by Playwright, on a server with the sample corpus."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from app.settings import Settings
from indexer.catalog.schema import upgrade
from tests.serving import running

expect.set_options(timeout=60_000)
SAMPLES = Path(__file__).parents[3] / "samples" / "documents"


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the sample documents."""
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("data"), encoder="hashing")
    upgrade(settings.catalog_url)
    with running(settings, trusted_proxies="127.0.0.1") as (_, client):
        client.put("/collections/sample", json={})
        for file in sorted(SAMPLES.glob("*.ndjson")):
            answer = client.post(
                "/collections/sample/documents",
                content=file.read_bytes(),
                headers={"Content-Type": "application/x-ndjson"},
            )
            assert answer.status_code == 200, answer.text
        script = {
            "id": "hostile",
            "text": "<script>window.bad=1</script><img src=x onerror='window.bad=1'> zebra crossing",
        }
        client.post("/collections/sample/documents", json=script)
        yield str(client.base_url).rstrip("/")


# Of a module: Playwright runs an event loop in this thread as long as it lives, and other tests start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """A headless Chromium; without one, tests are skipped."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@contextmanager
def window(browser, address: str, *others: str, **options: object) -> Iterator[object]:
    """A window of the browser; fails the test if a script fails or anything but the server and others is asked for."""
    opened = browser.new_page(base_url=address, **options)
    opened.set_default_timeout(60_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda sent: sent.url.startswith((address, "blob:", *others)) or errors.append(sent.url))
    opened.on("console", lambda said: "Security Policy" in said.text and errors.append(said.text))
    yield opened
    opened.close()
    assert errors == []


@pytest.fixture(
    params=[
        pytest.param((1280, 900), id="desktop"),
        pytest.param((360, 740), id="phone", marks=pytest.mark.slow("the page at the width of a phone")),
    ]
)
def page(request, browser, address) -> Iterator[object]:
    """A window of either size."""
    width, height = request.param
    with window(browser, address, viewport={"width": width, "height": height}) as opened:
        yield opened


@pytest.fixture
def desktop(browser, address) -> Iterator[object]:
    """A wide window."""
    with window(browser, address, viewport={"width": 1280, "height": 900}) as opened:
        yield opened
