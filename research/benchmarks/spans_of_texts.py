"""Spans of texts without an index: ``POST /spans`` beside indexing the same texts and searching them.

    python -m research.benchmarks.spans_of_texts [--source samples/documents] [--texts 100] [--words 200] [--rounds 3]

A process serves an empty data folder. Every round has texts of its own, of words of the source in their order. They go
to ``POST /spans``; then into a new collection, which is searched once, and deleted. The first round is apart: in it
the server loads torch, to index. Then a client searches a collection, alone and beside ``POST /spans``.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from indexer.sources import Source
from models.types import Document
from research.benchmarks.http_latency import Connection, print_figures, serving
from research.benchmarks.rows import percentile

PHRASE = "I want to cancel my contract"
_COLLECTION = "bench"
_COMMAND = ("-c", "from app.cli import main; main()")
_SEARCHES = 40


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds, but for ratios, milliseconds of searches and the difference of raw.

    ``first`` is the round in which the server loads what indexing needs; the others are medians of the later rounds.
    ``commands`` are processes that start, answer and end.
    """

    texts: int
    words: int
    spans_s: float
    index_and_search_s: float
    ratio: float
    first_spans_s: float
    first_index_and_search_s: float
    first_ratio: float
    commands_spans_s: float
    commands_index_and_search_s: float
    commands_ratio: float
    raw_difference: float
    search_alone_p50_ms: float
    search_beside_spans_p50_ms: float


class Client(Connection):
    """Sends JSON, and waits long for the answer."""

    def __init__(self, url: str) -> None:
        super().__init__(url, timeout_s=300)

    def send(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """The answer's body; ``SystemExit`` for an error."""
        status, answer = self.request(method, path, body)
        if status >= 400:
            raise SystemExit(f"{method} {path}: {answer}")
        return answer


@contextmanager
def client_of(url: str) -> Iterator[Client]:
    """A client that is closed at the end."""
    with closing(Client(url)) as client:
        yield client


def texts_of(source: Path, texts: int, words: int, number: int) -> list[str]:
    """Texts of so many words of a source; those of every round begin elsewhere.

    Raises ``SystemExit`` for a source with fewer words than a text.
    """
    all_words = " ".join(record.text for record in Source(source) if isinstance(record, Document)).split()
    if len(all_words) < words:
        raise SystemExit(f"{source} has {len(all_words)} words.")
    begins = ((number * texts + each) * (words // 2 + 7) % (len(all_words) - words + 1) for each in range(texts))
    return [" ".join(all_words[begin : begin + words]) for begin in begins]


def bodies(texts: Sequence[str]) -> list[dict[str, str]]:
    """The texts with ids, as both routes take them."""
    return [{"id": str(number), "text": text} for number, text in enumerate(texts)]


def spans(client: Client, texts: Sequence[str]) -> dict[str, float]:
    """Raw of the best span of every text, by ``POST /spans``."""
    body = {"phrases": [PHRASE], "texts": bodies(texts), "limit": 1}
    return {result["id"]: result["hits"][0]["raw"] for result in client.send("POST", "/spans", body)["results"]}


def index_and_search(client: Client, texts: Sequence[str]) -> dict[str, float]:
    """The same by a collection, which is deleted."""
    client.send("PUT", f"/collections/{_COLLECTION}", {})
    client.send("POST", f"/collections/{_COLLECTION}/documents", bodies(texts))
    body = {"collection": _COLLECTION, "text": PHRASE, "top_k": len(texts), "group_by": "document", "threshold": 0}
    hits = client.send("POST", "/search", body)["hits"]
    client.send("DELETE", f"/collections/{_COLLECTION}")
    return {hit["document_id"]: hit["raw"] for hit in hits}


def seconds(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rounds(client: Client, batches: Sequence[Sequence[str]]) -> tuple[list[float], list[float], float]:
    """The times of both ways for every batch of texts, and the largest difference of raw."""
    found: list[dict[str, float]] = []
    times: tuple[list[float], list[float]] = [], []
    for texts in batches:
        for way, taken in zip((spans, index_and_search), times, strict=True):
            taken.append(seconds(lambda way=way, texts=texts: found.append(way(client, texts))))  # type: ignore[misc]
    pairs = zip(found[::2], found[1::2], strict=True)
    difference = max(abs(one[id] - other[id]) for one, other in pairs for id in one)
    return *times, difference


def search_times(url: str, texts: Sequence[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of searches in a collection of the texts, alone, and beside ``POST /spans`` with the same texts."""
    search = {"collection": _COLLECTION, "text": PHRASE}

    def times(client: Client, go_on: Callable[[int], bool]) -> list[float]:
        taken: list[float] = []
        while go_on(len(taken)):
            taken.append(1000 * seconds(lambda: client.send("POST", "/search", search)))
        return taken

    with client_of(url) as client, client_of(url) as other, ThreadPoolExecutor(1) as pool:
        client.send("PUT", f"/collections/{_COLLECTION}", {})
        client.send("POST", f"/collections/{_COLLECTION}/documents", bodies(texts))
        alone = times(client, lambda number: number < _SEARCHES)
        busy = pool.submit(spans, other, texts)
        beside = times(client, lambda number: not number or not busy.done())
        busy.result()
    return alone, beside


def commands(folder: Path, texts: Sequence[str], encoder: Sequence[str]) -> tuple[float, float]:
    """The times of ``spanseek spans``, and of ``spanseek index`` and ``spanseek search``."""
    source = folder / "texts.ndjson"
    source.write_text("\n".join(map(json.dumps, bodies(texts))) + "\n")

    def command(*arguments: str) -> None:
        subprocess.run([sys.executable, *_COMMAND, *arguments, "--json"], cwd=folder, check=True, capture_output=True)

    one = seconds(lambda: command("spans", PHRASE, "--source", str(source), *encoder))
    index = seconds(lambda: command("index", "-c", _COLLECTION, "--source", str(source), *encoder))
    return one, index + seconds(lambda: command("search", PHRASE, "-c", _COLLECTION, "--group-by", "document"))


def measure(source: Path, texts: int, words: int, count: int, encoder: str | None) -> Figures:
    """Serve, and measure; ``encoder`` by default that of the settings."""
    batches = [texts_of(source, texts, words, number) for number in range(count + 1)]
    settings: dict[str, Any] = {"encoder": encoder} if encoder else {}
    with TemporaryDirectory(prefix="spanseek-") as name:
        folder = Path(name)
        subprocess.run([sys.executable, *_COMMAND, "init-db"], cwd=folder, check=True, capture_output=True)
        with serving(folder / "data", **settings) as url:
            with client_of(url) as client:
                spans(client, texts_of(source, 2, words, 0))  # loads the network for queries
                ours, theirs, difference = rounds(client, batches)
            alone, beside = search_times(url, batches[0])
        ours_alone, theirs_alone = commands(folder / "data", batches[0], ["--encoder", encoder] if encoder else [])
    return Figures(
        texts=texts,
        words=words,
        spans_s=round(median(ours[1:]), 3),
        index_and_search_s=round(median(theirs[1:]), 3),
        ratio=round(median(theirs[1:]) / median(ours[1:]), 2),
        first_spans_s=round(ours[0], 3),
        first_index_and_search_s=round(theirs[0], 3),
        first_ratio=round(theirs[0] / ours[0], 2),
        commands_spans_s=round(ours_alone, 3),
        commands_index_and_search_s=round(theirs_alone, 3),
        commands_ratio=round(theirs_alone / ours_alone, 2),
        raw_difference=round(difference, 5),
        search_alone_p50_ms=percentile(alone, 50),
        search_beside_spans_p50_ms=percentile(beside, 50),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path("samples/documents"), help="documents to take words from")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--words", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3, help="rounds after the first")
    parser.add_argument("--encoder")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measure(given.source.resolve(), given.texts, given.words, given.rounds, given.encoder)
    print_figures(figures, as_json=given.json)


if __name__ == "__main__":
    main()
