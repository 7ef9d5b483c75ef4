"""Word indexes over the sentences of a source: size, speed and merging of ours, tantivy and bm25s.

    python -m research.benchmarks.word_indexes SOURCE --limit 20000

Every index gets the same sentences. A library that is not installed is left out. Queries are runs of three to six
words of the source. Times are medians, in one thread.
"""

import argparse
import importlib.util
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from app.search.modes.lexical import LexicalQuery, LexicalScan
from indexer.arrays import LONGEST
from indexer.engine.query import Selection
from indexer.engine.selection import search as found
from indexer.engine.snapshot import Snapshot
from indexer.indexing.pipeline import IndexJob
from indexer.sources import Source
from indexer.types import Recipe
from indexer.words.files import BOUNDS, OF_UNITS, STARTS, TERMS, UNITS, WordRows, WordWriter
from indexer.words.queries import plain_query
from indexer.words.recipe import with_words
from models.encoders.hashing import HashingEncoder
from models.text.units import split
from models.text.words import folded_units
from models.types import Document, UnitSpan
from research.evaluation.searching import COLLECTION, scratch_store

_TOP = 10
Row = dict[str, float | str]


def main() -> None:
    """Print one line of JSON for every index."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--limit", type=int, default=20_000, help="Documents to read.")
    parser.add_argument("--queries", type=int, default=200)
    given = parser.parse_args()
    documents = [each for each in islice(Source(given.source), given.limit) if isinstance(each, Document)]
    with scratch_store() as store:
        encoder = HashingEncoder(dim=8)
        recipe = with_words(Recipe("hashing", encoder.fingerprint, encoder.dim))
        collection = store.catalog.create_collection(COLLECTION, recipe)
        IndexJob(store, encoder, collection, segment_units=50_000_000).run(documents)
        snapshot = store.snapshot(COLLECTION)
        sentences = list(_sentences(snapshot))
        units = snapshot.units
        print(json.dumps({"documents": len(documents), "sentences": len(sentences), "units": units}))
        queries = _queries(sentences, given.queries)
        print(json.dumps(_ours(snapshot, sentences, queries)))
    for name, measure in (("tantivy", _tantivy), ("bm25s", _bm25s)):
        if importlib.util.find_spec(name):
            print(json.dumps(measure(sentences, queries, units)))


def _sentences(snapshot: Snapshot) -> Iterator[str]:
    for view in snapshot.views:
        bounds = view.segment.whole_spans["sentence"].tolist()
        for start, end in pairwise(bounds):
            document = int(view.segment.part_document[view.segment.part_of(start)])
            yield view.segment.text(document, view.segment.char_span(UnitSpan(start, end)))


def _queries(sentences: Sequence[str], count: int) -> list[str]:
    draw = random.Random(0)
    queries: list[str] = []
    while len(queries) < count:
        words = draw.choice(sentences).split()
        size = draw.randint(3, 6)
        if len(words) >= size:
            start = draw.randint(0, len(words) - size)
            queries.append(" ".join(words[start : start + size]))
    return queries


def _ms(search: Callable[[str], object], queries: Sequence[str]) -> float:
    times = []
    for query in queries:
        started = time.perf_counter()
        search(query)
        times.append((time.perf_counter() - started) * 1000)
    return round(median(times), 3)


def _row(name: str, seconds: float, size: int, units: int, ms: float, merge: str) -> Row:
    return {
        "index": name,
        "units_per_second": round(units / seconds),
        "bytes_per_unit": round(size / units, 2),
        "query_ms": ms,
        "merge": merge,
    }


def _ours(snapshot: Snapshot, sentences: Sequence[str], queries: Sequence[str]) -> Row:
    started = time.perf_counter()
    with TemporaryDirectory() as folder:
        writer = WordWriter(Path(folder))
        for text in sentences:
            writer.append(WordRows(folded_units(text, split(text))))
        writer.finish()
        seconds = time.perf_counter() - started
        size = sum((Path(folder) / name).stat().st_size for name in (OF_UNITS, UNITS, STARTS, BOUNDS, TERMS))

    def search(query: str) -> object:
        terms = tuple(filter(None, folded_units(query, split(query))))
        return found(snapshot, LexicalScan((LexicalQuery(plain_query(terms), terms, LONGEST),)), Selection(_TOP))

    search(queries[0])
    return _row("ours", seconds, size, snapshot.units, _ms(search, queries), "byte for byte")


def _tantivy(sentences: Sequence[str], queries: Sequence[str], units: int) -> Row:
    import tantivy  # type: ignore[import-not-found, unused-ignore]

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="default", index_option="position")
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        index = tantivy.Index(builder.build(), path=folder)
        writer = index.writer(num_threads=1)
        for text in sentences:
            writer.add_document(tantivy.Document(text=text))
        writer.commit()
        writer.wait_merging_threads()
        seconds = time.perf_counter() - started
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        index.reload()
        searcher = index.searcher()

        def search(query: str) -> object:
            words = "".join(letter if letter.isalnum() else " " for letter in query)
            return searcher.search(index.parse_query(words, ["text"]), _TOP).hits

        return _row("tantivy", seconds, size, units, _ms(search, queries), "own segments, own schedule")


def _bm25s(sentences: Sequence[str], queries: Sequence[str], units: int) -> Row:
    import bm25s

    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        tokens = bm25s.tokenize(list(sentences), stopwords=None, return_ids=False, show_progress=False)
        index = bm25s.BM25()
        index.index(tokens, show_progress=False)
        index.save(folder)
        seconds = time.perf_counter() - started
        size = sum(path.stat().st_size for path in Path(folder).iterdir())

        def search(query: str) -> object:
            words = bm25s.tokenize([query], stopwords=None, return_ids=False, show_progress=False)
            return index.retrieve(words, k=_TOP, show_progress=False)

        return _row("bm25s", seconds, size, units, _ms(search, queries), "none: index anew")


if __name__ == "__main__":
    main()
