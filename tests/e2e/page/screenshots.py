"""Makes the pictures of the documentation: every view of the page at desktop and phone width, over the sample corpus.

    python -m tests.e2e.page.screenshots [--out docs/images]

The server runs the default encoder. Pictures have 256 colours, to stay small.
"""

import argparse
import shutil
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from app.settings import Settings
from indexer.catalog.schema import upgrade
from tests.serving import running

ROOT = Path(__file__).parents[3]
SIZES = {"desktop": (1280, 1060), "phone": (390, 800)}
PHRASES = "/?c=sample&many=1&t=0.5&q=I+never+received+my+package%0Acancel+my+subscription%0Amy+printer+is+broken"
LABELS = 24
NEW = {
    "mail-0931": "Three weeks now, and the parcel never came.",
    "mail-0932": "Hi! I still have not received my package.",
}
QUERY = "/?c=sample&q=I+never+received+my+package&b=clause&t=0.2"


def picture(page: Any, out: Path, name: str, *, whole: bool = False) -> None:
    """Save what the window shows, or the whole page, with 256 colours."""
    page.wait_for_timeout(400)
    if whole:
        page.evaluate("scrollTo(0, 0)")
    image = Image.open(BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(out / f"{name}.png", optimize=True)


def views(page: Any, out: Path, size: str) -> None:
    """All views at one size."""
    page.goto(QUERY)
    page.locator(".card mark").first.wait_for()
    page.get_by_text("from 0.20 on").first.wait_for()
    page.get_by_role("button", name="May be").click()
    picture(page, out, f"search-{size}")
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.locator("dialog .unit").first.wait_for()
    picture(page, out, f"why-{size}")
    page.keyboard.press("Escape")
    page.locator(".card").filter(has=page.locator(".who b", has_text="customer")).first.locator(".said").click()
    page.locator(".pane mark").first.wait_for()
    picture(page, out, f"document-{size}")
    page.goto(f"{QUERY}&vs=lexical&t2=0.2")
    page.get_by_text("from 0.20 on").first.wait_for()
    picture(page, out, f"two-modes-{size}")
    page.goto(PHRASES)
    page.locator("tbody tr").nth(2).wait_for()
    picture(page, out, f"phrases-{size}")
    page.goto("/?view=thresholds&c=sample")
    label(page)
    picture(page, out, f"thresholds-{size}", whole=True)
    page.goto("/?view=data&c=sample")
    page.get_by_role("region", name="Matches of saved phrases").locator("tbody tr").first.wait_for()
    page.get_by_text("Restore as a new collection").wait_for()
    picture(page, out, f"data-{size}", whole=True)
    page.goto("/docs")
    page.get_by_text("POST /search", exact=True).wait_for()
    picture(page, out, f"reference-{size}")


def label(page: Any) -> None:
    """Label some examples, by their scores."""
    page.get_by_role("button", name="Propose examples").click()
    score = page.get_by_role("region", name="Labels").locator(".score")
    for number in range(LABELS):
        page.get_by_text(f"{number} of 60 labelled").wait_for()
        page.keyboard.press("y" if float(score.inner_text()) >= 0.3 else "n")
    page.get_by_text(f"{LABELS} of 60 labelled").wait_for()


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
            for size, (width, height) in SIZES.items():
                viewport = {"width": width, "height": height}
                page = browser.new_page(
                    viewport=viewport, base_url=str(client.base_url).rstrip("/"), color_scheme="light"
                )
                views(page, out, size)
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
