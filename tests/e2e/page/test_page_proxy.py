"""The page and the API behind a real nginx, under a prefix that it cuts off and under one that it keeps."""

from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.page.checks import settle
from tests.e2e.page.conftest import window
from tests.nginx import nginx


@pytest.fixture(scope="module")
def proxy(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an nginx in front of the server."""
    with nginx(address, tmp_path_factory.mktemp("nginx")) as proxied:
        yield proxied


@pytest.mark.parametrize("prefix", ["/spanseek", "/kept"])
def test_the_page_lives_below_its_prefix(browser, proxy: str, prefix: str) -> None:
    """The window fails the test if anything outside the prefix is asked for."""
    with window(browser, f"{proxy}{prefix}/", viewport={"width": 1280, "height": 900}) as page:
        page.goto("./?c=sample")
        page.get_by_label("Phrase", exact=True).fill("I never received my package")
        page.get_by_role("button", name="Search", exact=True).click()
        settle(page)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.locator(".pane .text mark").first.wait_for()
        page.keyboard.press("Escape")
        for view, there in (("API", "The OpenAPI document"), ("Data", "Collections"), ("Search", "Search")):
            page.get_by_role("navigation").get_by_role("link", name=view, exact=True).click()
            page.get_by_text(there, exact=True).first.wait_for()
            assert page.url.startswith(f"{proxy}{prefix}/")


@pytest.mark.parametrize("prefix", ["/spanseek", "/kept"])
def test_the_api_names_its_prefix(proxy: str, prefix: str) -> None:
    with httpx.Client(base_url=proxy, timeout=60) as client:
        assert client.get(f"{prefix}/openapi.json").json()["servers"] == [{"url": prefix}]
        bare = client.get(prefix)
        assert bare.is_redirect
        assert bare.headers["location"].removeprefix(proxy) == f"{prefix}/"
        hits = client.post(f"{prefix}/search", json={"collection": "sample", "text": "refund"}).json()["hits"]
        assert hits
