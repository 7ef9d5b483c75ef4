"""Benchmark of the page in a browser: first paint, first hit, threshold slider, a large document, and the page's size.

    python -m research.benchmarks.page_figures [--encoder slice] [--documents 10000] [--moves 60] [--json]

A server of its own serves the sample corpus, and a made collection in which every document matches and one has
3.7 million characters. A headless Chromium measures by its own clock: from the event of the slider, or the click that
opens a document, until the frame that shows its effect is painted, from the start of the navigation until the first hit
stands in the page.
"""

import argparse
import gzip
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, Route, sync_playwright

from app.cli.console import out, print_json
from app.collections.documents import DocumentService
from app.collections.service import CollectionService
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog import schema
from indexer.sources import Source
from models.types import Document, Part
from research.benchmarks.http_latency import started

_ROOT = Path(__file__).parents[2]
_SAMPLES = _ROOT / "samples" / "documents"
_PAGE = _ROOT / "app" / "page"
_PHRASE = "I never received my package"
LARGE = 3_700_000
_MANY = 10_000
_LOADS = 9
_OPENINGS = 5
_ALL = re.compile(r"^All \d")
# What the page says once the exact counts are there.
_COUNTED = re.compile("documents? at any score")
# Called before the page's own scripts: when the first hit is there.
_FIRST_HIT = """
new MutationObserver((changes, observer) => {
  if (!document.querySelector(".card mark")) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.firstHit = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
# A task behind the next frame's callbacks runs once that frame is painted.
_MOVES = """async (moves) => {
  const slider = document.querySelector("input[type=range]"), times = [];
  for (let move = 0; move < moves; move++) {
    const begun = performance.now();
    slider.value = String((move * 37 % 100) / 100);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel();
      port1.onmessage = done; port2.postMessage(0); }));
    times.push(performance.now() - begun);
  }
  return times;
}"""
# From the click on the first hit until the frame that shows it in its document.
_OPEN = """async () => {
  const begun = performance.now();
  document.querySelector(".card .said").click();
  while (!document.querySelector(".pane mark.current")) await new Promise(requestAnimationFrame);
  await new Promise((done) => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel();
    port1.onmessage = done; port2.postMessage(0); }));
  return performance.now() - begun;
}"""
_STEPS = """async (steps) => {
  const next = [...document.querySelectorAll(".pane button")].find((one) => one.textContent.startsWith("Next"));
  const times = [];
  for (let step = 0; step < steps; step++) {
    const begun = performance.now();
    next.click();
    await new Promise((done) => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel();
      port1.onmessage = done; port2.postMessage(0); }));
    times.push(performance.now() - begun);
  }
  return times;
}"""


@dataclass(frozen=True, slots=True)
class PageFigures:
    """Milliseconds by the browser's clock, medians and 95th percentiles, and the size of the page's files, packed."""

    first_paint_ms: float
    first_hit_ms: float
    hits: int
    documents_counted: int
    slider_p50_ms: float
    slider_p95_ms: float
    slider_of_many_p95_ms: float
    document_characters: int
    document_shown_ms: float
    document_step_p95_ms: float
    packed_bytes: int


def measure(encoder: str, documents: int, moves: int, characters: int = LARGE) -> PageFigures:
    """Serve both collections and read the figures in a browser."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = Settings(_env_file=None, data_dir=Path(folder), encoder=encoder)
        _index(settings, documents, characters)
        process, url = started(settings.data_dir, encoder=encoder, task_workers="1")
        try:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            return _figures(browser, url, moves)
        finally:
            process.terminate()
            process.wait()


def _figures(browser: Browser, url: str, moves: int) -> PageFigures:
    paint, first_hit = first_times(browser, url)
    with _window(browser, url) as page:
        page.goto("/?c=made&q=cancel+my+plan&mode=lexical")
        page.get_by_text(_COUNTED).first.wait_for(timeout=120_000)
        _show_all(page)
        counted = page.get_by_text(_COUNTED).first.inner_text()
        times = page.evaluate(_MOVES, moves)
    of_many = _of_many(browser, url, moves)
    characters, shown, steps = _document(browser, url)
    return PageFigures(
        first_paint_ms=round(paint, 1),
        first_hit_ms=round(first_hit, 1),
        hits=1000,
        documents_counted=int(re.findall(r"([\d,]+) document", counted)[-1].replace(",", "")),
        slider_p50_ms=round(float(np.median(times)), 1),
        slider_p95_ms=round(float(np.percentile(times, 95)), 1),
        slider_of_many_p95_ms=round(float(np.percentile(of_many, 95)), 1),
        document_characters=characters,
        document_shown_ms=round(shown, 1),
        document_step_p95_ms=round(float(np.percentile(steps, 95)), 1),
        packed_bytes=packed_bytes(_PAGE),
    )


def first_times(browser: Browser, url: str) -> tuple[float, float]:
    """The medians of the first paint and of the first hit, in windows without a cache.

    The first window is left out: the server opens what it reads.
    """
    times = []
    for _ in range(1 + _LOADS):
        with _window(browser, url) as page:
            page.goto(f"/?c=sample&q={_PHRASE.replace(' ', '+')}")
            page.get_by_text(_COUNTED).first.wait_for(timeout=60_000)
            paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            times.append(page.evaluate(f"[{paint}, window.firstHit]"))
    first_paint, first_hit = np.median(times[1:], axis=0).tolist()
    return first_paint, first_hit


def _of_many(browser: Browser, url: str, moves: int) -> list[float]:
    """Moves of the slider over a list of 10,000 hits: those of the server, which returns 1,000 at most, repeated."""

    def repeat(route: Route) -> None:
        answer = route.fetch().json()
        own = answer["hits"]
        hits = [own[row % len(own)] | {"score": 1 - row / _MANY, "rank": row + 1} for row in range(_MANY)]
        route.fulfill(json=answer | {"hits": hits})

    with _window(browser, url) as page:
        page.route("**/search", repeat)
        page.goto("/?c=made&q=cancel+my+plan&mode=lexical")
        page.get_by_text(_COUNTED).first.wait_for(timeout=120_000)
        _show_all(page)
        page.get_by_text(f"{_MANY:,} shown").first.wait_for(timeout=60_000)
        times: list[float] = page.evaluate(_MOVES, moves)
        return times


def _show_all(page: Page) -> None:
    """Unfold the hits that are unlikely, where an encoder has a verifier."""
    every = page.get_by_role("button", name=_ALL)
    if every.is_visible() and every.is_enabled():
        every.click()


def _document(browser: Browser, url: str) -> tuple[int, float, list[float]]:
    """Open the large document at its best hit, in new windows, and step through its hits in the last one."""
    times = []
    for _ in range(_OPENINGS):
        with _window(browser, url) as page:
            page.goto("/?c=made&q=rebate+for+zeppelins&mode=lexical")
            page.get_by_text(_COUNTED).first.wait_for(timeout=120_000)
            times.append(page.evaluate(_OPEN))
            steps: list[float] = page.evaluate(_STEPS, 20)
            page.locator(".pane .stretch:empty").last.wait_for(state="detached", timeout=120_000)
            characters = int(page.evaluate("document.querySelector('.pane .document').textContent.length"))
    return characters, float(np.median(times)), steps


@contextmanager
def _window(browser: Browser, url: str) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, base_url=url)
    page.add_init_script(_FIRST_HIT)
    try:
        yield page
    finally:
        page.close()


def _index(settings: Settings, documents: int, characters: int) -> None:
    schema.upgrade(settings.catalog_url)
    store = open_store(settings)
    with closing(store.catalog):
        services = Services(settings, store)
        for name, source in (("sample", _samples()), ("made", made_documents(documents, characters))):
            services.get(CollectionService).create(name)
            services.get(DocumentService).upsert(name, list(source))


def _samples() -> Iterator[Document]:
    return (record for record in Source(_SAMPLES) if isinstance(record, Document))


def made_documents(documents: int, characters: int = LARGE) -> Iterator[Document]:
    """Documents that all match a phrase, and one of so many characters that matches another one many times.

    >>> [len(one.text) for one in made_documents(1, 1000)]
    [43, 1014]
    """
    for number in range(documents):
        yield Document(f"d{number}", (Part(f"Please cancel my plan number {number:,} by tomorrow."),))
    filler = (f"Nothing of interest happens on line {number:07}. " for number in count())
    parts, size = [], 0
    for number, sentence in enumerate(filler):
        parts.append("A rebate for zeppelins. " if number % 400 == 0 else sentence)
        size += len(parts[-1])
        if size >= characters:
            break
    yield Document("large", (Part("".join(parts)),))


def packed_bytes(folder: Path) -> int:
    """The size of all files, each packed by itself, as a proxy would send them."""
    return sum(len(gzip.compress(path.read_bytes())) for path in folder.iterdir() if path.is_file())


def main() -> None:
    """Parse the command line, measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="slice")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--json", action="store_true", dest="as_json")
    given = parser.parse_args()
    figures: dict[str, Any] = asdict(measure(given.encoder, given.documents, given.moves))
    if given.as_json:
        print_json(figures)
    else:
        out.print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
