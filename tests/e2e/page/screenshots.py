"""Makes the pictures of the documentation: every view of the page at three widths, over the sample corpus.

    python -m tests.e2e.page.screenshots [--out docs/images]

Of each view there is one picture, at half its size: a desktop's window, a tablet's and a phone's beside each other. Of
some there is the desktop's at full size, too. The server runs the default encoder. Pictures have the quality, or as
many colours, as leave them below 60 kB.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from app.settings import Settings
from indexer.catalog.schema import upgrade
from plugins.ray.tests.test_page_cluster import state
from tests.serving import running

ROOT = Path(__file__).parents[3]
SIZES = {"desktop": (1280, 1060), "tablet": (820, 1060), "phone": (390, 844)}
FULL = ("search", "phrases", "thresholds", "data")
MOST_BYTES = 60_000
GAP = 12
LABELS = 24
NEW = {
    "mail-0931": "Three weeks now, and the parcel never came.",
    "mail-0932": "Hi! I still have not received my package.",
}
TABLE = """call,turn,speaker,said
c-1,1,agent,How can I help you?
c-1,2,customer,I was charged twice for one invoice.
c-2,1,customer,The parcel never came.
"""
QUERY = "/?c=sample&q=I+never+received+my+package&b=clause&t=0.2"
PHRASES = "/?c=sample&many=1&t=0.5&q=I+never+received+my+package%0Acancel+my+subscription%0Amy+printer+is+broken"


def start(page: Any) -> None:
    page.goto("/?c=sample")
    page.get_by_text("For example").wait_for()


def search(page: Any) -> None:
    page.goto(QUERY)
    page.locator(".card mark").first.wait_for()
    page.get_by_text("from 0.20 on").first.wait_for()
    page.get_by_role("button", name="May be").click()


def why(page: Any) -> None:
    search(page)
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.locator("dialog .unit").first.wait_for()


def document(page: Any) -> None:
    search(page)
    page.locator(".card").filter(has=page.locator(".who b", has_text="customer")).first.locator(".said").click()
    page.locator(".pane mark").first.wait_for()


def two_modes(page: Any) -> None:
    page.goto(f"{QUERY}&vs=lexical&t2=0.2")
    page.get_by_text("from 0.20 on").first.wait_for()


def phrases(page: Any) -> None:
    page.goto(PHRASES)
    page.locator("tbody tr").nth(2).wait_for()


def thresholds(page: Any) -> None:
    """Label some examples, by their scores."""
    page.goto("/?view=thresholds&c=sample")
    page.get_by_role("button", name="Propose examples").click()
    score = page.get_by_role("region", name="Labels").locator(".score")
    for number in range(LABELS):
        page.get_by_text(f"{number} of 60 labelled").wait_for()
        page.keyboard.press("y" if float(score.inner_text()) >= 0.3 else "n")
    page.get_by_text(f"{LABELS} of 60 labelled").wait_for()


def data(page: Any) -> None:
    page.goto("/?view=data&c=sample")
    page.get_by_role("region", name="Matches of saved phrases").locator("tbody tr").first.wait_for()
    page.get_by_text("Restore as a new collection").wait_for()


def table(page: Any) -> None:
    page.goto("/?view=data&c=sample")
    page.get_by_label("Into").select_option("sample")
    file = {"name": "calls.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
    page.get_by_label("Files").set_input_files([file])
    page.get_by_role("form", name="calls.csv").scroll_into_view_if_needed()


def compare(page: Any) -> None:
    page.goto("/?view=texts&c=sample")
    page.get_by_label("First text").fill("I never received my package.")
    page.get_by_label("Second text").fill("The parcel was lost.")
    page.get_by_role("main").get_by_role("button", name="Compare").click()
    page.locator("main tbody tr").first.wait_for()


def restore(page: Any) -> None:
    page.goto("/?view=restore&c=sample")
    page.get_by_label("Your text").fill("I never received my package.")
    page.get_by_role("button", name="Make vectors and restore").click()
    page.locator("main [role=status] p").first.wait_for()


def reference(page: Any) -> None:
    page.goto("/docs")
    page.get_by_text("POST /search", exact=True).click()


def cluster(page: Any) -> None:
    """A view of two machines, which are made up."""
    page.route("**/health/ready", lambda route: route.fulfill(json={"executor": {"name": "ray"}}))
    page.route("**/admin/cluster", lambda route: route.fulfill(json=state()))
    page.goto("/?view=cluster")
    page.get_by_role("region", name="Machines").wait_for()


def sign_in(page: Any) -> None:
    provider = {"issuer": "https://login.example", "client_id": "page", "scope": "openid"}
    page.route("**/collections", lambda route: route.fulfill(status=401, json={"detail": "A key is needed."}))
    page.route("**/sign-in", lambda route: route.fulfill(json={"provider": provider}))
    page.goto("/?c=sample")
    page.get_by_role("button", name="Sign in at login.example").wait_for()


VIEWS: dict[str, Callable[[Any], None]] = {
    view.__name__.replace("_", "-"): view
    for view in (
        start, search, why, document, two_modes, phrases, thresholds, data, table, compare, restore, cluster, reference,
        sign_in,
    )
}  # fmt: skip


def taken(page: Any) -> Image.Image:
    """What the window shows."""
    page.wait_for_timeout(400)
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def beside(windows: list[Image.Image]) -> Image.Image:
    """Windows beside each other, at half their size."""
    halves = [each.resize((each.width // 2, each.height // 2), Image.Resampling.LANCZOS) for each in windows]
    width = sum(each.width for each in halves) + GAP * (len(halves) - 1)
    whole = Image.new("RGB", (width, max(each.height for each in halves)), "#8b8e95")
    left = 0
    for each in halves:
        whole.paste(each, (left, 0))
        left += each.width + GAP
    return whole


def save(image: Image.Image, path: Path) -> None:
    """Save a picture as well as fits."""
    for quality in (80, 70, 60, 50, 40, 30):
        if path.suffix == ".png":
            image.quantize(2 ** (quality // 10), dither=Image.Dither.NONE).save(path, optimize=True)
        else:
            image.save(path, quality=quality, method=6)
        if path.stat().st_size < MOST_BYTES:
            return
    raise AssertionError(f"{path.name} has {path.stat().st_size:,} bytes")


def fill(client: Any) -> None:
    """Index the sample corpus, save a phrase, let documents match it, and make a snapshot."""
    client.put("/collections/sample", json={})
    for file in sorted((ROOT / "samples" / "documents").glob("*.ndjson")):
        headers = {"Content-Type": "application/x-ndjson"}
        answer = client.post("/collections/sample/documents", content=file.read_bytes(), headers=headers, timeout=600)
        answer.raise_for_status()
    client.post("/collections/sample/phrases", json={"name": "lost parcel", "text": "the parcel never came"})
    client.put("/collections/sample/phrases/lost%20parcel/threshold", json={"value": 0.3})
    for id, text in NEW.items():
        client.post("/collections/sample/documents", json={"id": id, "text": text}).raise_for_status()
    client.post("/admin/collections/sample/snapshots?wait=60").raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = Settings(_env_file=None, data_dir=Path(folder))
        upgrade(settings.catalog_url)
        with running(settings, encoder="slice", write_deadline_s=600) as (_, client):
            fill(client)
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            address = str(client.base_url).rstrip("/")
            for name, show in VIEWS.items():
                windows = []
                for width, height in SIZES.values():
                    page = browser.new_page(
                        base_url=address, viewport={"width": width, "height": height}, color_scheme="light"
                    )
                    show(page)
                    windows.append(taken(page))
                    page.close()
                save(beside(windows), out / f"{name}.webp")
                if name in FULL:
                    save(windows[0], out / f"{name}-desktop.png")
            browser.close()


if __name__ == "__main__":
    main()
