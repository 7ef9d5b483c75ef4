# ruff: noqa: T201
"""Measures the first screen of the page on the judged phrases: the hits that it marks as likely though they are not.

    python -m tests.e2e.page.first_screen --address http://127.0.0.1:8000 [--collection other_calls]

The collection holds the calls of that name (``spanseek eval judged-corpora``), indexed with the default encoder. Those
of ``calls`` chose the page's mark of doubt; those of the others had no part in it. Rows that
the page shows as likely, without a doubt, are unmarked. One is right if a judge gave its place 1 or more, and wrong if
he gave it 0; a place that nobody judged is counted apart. Also measures the time from the address to the verdict, and
from a key or a move of the slider to the next frame, with 10,000 hits.
"""

import argparse
import json
import shutil
import time
import zlib
from collections import Counter
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

DATA = Path(__file__).parents[3] / "research" / "data"
_OTHERS = ("other_calls", "third_calls", "fourth_calls")
JUDGED = {"calls": DATA / "judged"} | dict.fromkeys(_OTHERS, DATA / "first_screen")
HITS = 10_000

_ROWS = """() => [...document.querySelectorAll(".card")]
  .filter((card) => card.getBoundingClientRect().bottom <= innerHeight)
  .map((card) => [card.dataset.document, Number(card.dataset.start), card.classList.contains("likely")])"""
# Milliseconds until the next frame is painted after each change of a control.
_TIMES = """async ([selector, values]) => {
  const control = document.querySelector(selector), times = [];
  for (const value of values) {
    const start = performance.now();
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 150));
  }
  return times;
}"""


def grades(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The judgements of each query."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "judgements.ndjson").read_text().splitlines():
        one = json.loads(line)
        found.setdefault(one["query"], []).append(one)
    return found


def grade_of(judged: list[dict[str, Any]], document: str, start: int) -> int | None:
    """The best grade of a judged place that a row begins in; None if nobody judged one."""
    places = (one for one in judged if one["document_id"] == document and one["start"] <= start < one["end"])
    return max((one["grade"] for one in places), default=None)


def first_screens(page: Any, collection: str) -> None:
    """Counts the rows of the first screens of all queries by what is marked and what is true."""
    folder = JUDGED[collection]
    judged, times = grades(folder), []
    halves = {"chooses": Counter[str](), "reported": Counter[str]()}
    for line in (folder / "queries.ndjson").read_text().splitlines():
        query = json.loads(line)
        if query["corpus"] != collection:
            continue
        started = time.perf_counter()
        page.goto(f"/?c={collection}&q={quote(query['text'])}")
        page.locator(".verdict strong").wait_for()
        times.append(1000 * (time.perf_counter() - started))
        page.get_by_text("at any score").wait_for()
        rows = page.evaluate(_ROWS)
        counts = halves["reported" if zlib.crc32(query["id"].encode()) % 2 else "chooses"]
        for document, start, is_likely in rows:
            grade = grade_of(judged.get(query["id"], []), document, start)
            truth = "unjudged" if grade is None else "right" if grade else "wrong"
            counts[f"{'unmarked' if is_likely else 'marked'}, {truth}"] += 1
            if is_likely and grade is None:
                print(f"to judge: {query['id']} {document} {start}")
        print(query["id"], page.locator(".verdict p").inner_text(), f"({len(rows)} rows)")
    for half, counts in halves.items():
        print(half, dict(counts), f"{sum(counts.values())} rows")
    whole = halves["chooses"] + halves["reported"]
    print(f"unmarked and wrong: {whole['unmarked, wrong']} of {whole.total()} rows")
    print(f"address to verdict: {summary(times)}")


def summary(times: list[float]) -> str:
    """The median and the 95th percentile of times in milliseconds."""
    return f"median {median(times):.0f} ms, 95 % {quantiles(times, n=20)[-1]:.0f} ms"


def controls(page: Any, collection: str) -> None:
    """Times the slider and the phrase over many hits, with a server that answers at once."""
    hit = {"text": "stop", "raw": 0.5, "mode": "best_span", "metadata": {"kind": "call"}, "start": 0, "end": 4}
    hits = [
        hit | {"document_id": f"d{number}", "score": 1 - number / HITS, "rank": number + 1} for number in range(HITS)
    ]
    body = json.dumps({"hits": hits})
    page.route("**/search", lambda route: route.fulfill(content_type="application/json", body=body))
    page.route("**/preview", lambda route: route.fulfill(status=403, json={"detail": "No counts."}))
    page.goto(f"/?c={collection}&q=stop")
    page.get_by_text("10,000 shown").wait_for()
    for name, selector, values in (
        ("slider", "input[type=range]", [str(number / 100) for number in range(0, 100, 2)]),
        ("typing", "#query", [f"stop {'it now please ' * 4}"[: 5 + number] for number in range(40)]),
    ):
        times = page.evaluate(_TIMES, [selector, values])
        print(f"{name}: {summary(times)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="http://127.0.0.1:8000")
    parser.add_argument("--collection", default="calls", choices=JUDGED)
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(base_url=arguments.address, viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        first_screens(page, arguments.collection)
        controls(page, arguments.collection)
        browser.close()


if __name__ == "__main__":
    main()
