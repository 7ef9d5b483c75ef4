"""Search beside writing: how soon upserted documents are visible, and what searches wait meanwhile.

    python -m research.benchmarks.upserts --collection NAME --source TEXTS [--units 1000000] [--documents 1000]
        [--document-units 60] [--rounds 3] [--searches 500] [--json]

The first whole documents of a collection, up to so many units, are copied into a data folder of their own, which is
thrown away, and served by a process of its own. One client searches all the time; in every round another sends new
documents in one request. That is done twice: with a server that has the documents' vectors already, and with one that
encodes them. Documents and phrases are cut out of the texts of a file or folder, as ``spanseek index`` reads it.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from app.cli.console import out, print_json
from app.encoders.encoders import Encoders
from app.settings import Settings
from indexer.types import Recipe
from models.errors import InvalidInput, SpanseekError
from models.types import Document
from research.benchmarks.corpus import Split, first_documents
from research.benchmarks.http_latency import SERVE, Answered, Client, ask_all, publish_documents, serving
from research.benchmarks.phrases_at_ingestion import some_documents, some_phrases, texts
from research.benchmarks.prepare import opened
from research.benchmarks.prepared import prepare, save
from research.benchmarks.rows import percentile
from research.evaluation.searching import scratch_store

_DOCUMENTS = "/collections/bench/documents"
_PHRASES = 500
_WARM_UP = 20
# How long a server may take to write documents, or to show them.
_PATIENCE_S = 1800.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Documents to write, in so many rounds, and the number of searches to time while nothing is written."""

    documents: int = 1_000
    document_units: int = 60
    rounds: int = 3
    searches: int = 500


@dataclass(frozen=True, slots=True)
class Round:
    """One round: seconds from sending the documents until a search saw them, and what was asked meanwhile.

    ``maintenance`` are the searches after that, until the server had merged what was due.
    """

    visible_s: float
    writing: list[Answered]
    maintenance: list[Answered]


@dataclass(frozen=True, slots=True)
class Beside:
    """The figures with one kind of ``vectors``: precomputed, or encoded by the server.

    Milliseconds are a client's, encoding the query included. ``p99_ratio`` is that of writing to idle.
    """

    vectors: str
    units: int
    documents: int
    rounds: int
    visible_s: float
    slowest_visible_s: float
    idle_p50_ms: float
    idle_p99_ms: float
    writing_p50_ms: float
    writing_p99_ms: float
    p99_ratio: float
    maintenance_p50_ms: float | None
    maintenance_p99_ms: float | None
    idle_searches: int
    writing_searches: int
    maintenance_searches: int
    errors: int


class Searcher:
    """One client that searches on and on, in a thread of its own, until the context is left."""

    def __init__(self, url: str, phrases: Sequence[str]) -> None:
        self._client, self._phrases = Client(url), phrases
        self._answers: list[tuple[float, Answered]] = []
        self._answered, self._stop = Condition(), Event()
        self._thread = Thread(target=self._ask)

    def __enter__(self) -> "Searcher":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()

    def _ask(self) -> None:
        for phrase in cycle(self._phrases):
            if self._stop.is_set():
                return
            answer = self._client.ask(phrase)
            with self._answered:
                self._answers.append((time.perf_counter(), answer))
                self._answered.notify_all()

    def saw(self, generation: int) -> float:
        """Wait for the first answer that is of this generation, or of a later one, and return when it came."""
        with self._answered:
            if not self._answered.wait_for(lambda: self._first(generation) is not None, _PATIENCE_S):
                raise InvalidInput(f"No search saw generation {generation}.", hint="Look into the server's log.")
            return self._first(generation) or 0.0

    def _first(self, generation: int) -> float | None:
        return next((at for at, answer in self._answers if answer.generation >= generation), None)

    def between(self, begin: float, end: float) -> list[Answered]:
        """The answers to what was asked, or was under way, in a stretch of time."""
        with self._answered:
            return [answer for at, answer in self._answers if at > begin and at - answer.wall_ms / 1000 < end]


def upsert(url: str, documents: Sequence[Document]) -> int:
    """Send documents in one request; returns the generation that has them. Raises ``InvalidInput`` if any failed."""
    body = json.dumps([{"id": document.id, "text": document.text} for document in documents])
    answer = _request(url, "POST", _DOCUMENTS, body)
    failed = [result for result in answer["results"] if result["status"] != "indexed"]
    if failed:
        raise InvalidInput(
            f"{len(failed)} documents were not indexed, the first: {failed[0]}.", hint="Change --source."
        )
    return int(answer["generation"])


def wait_for_maintenance(url: str) -> None:
    """Wait until the server has merged what was due: what is asked of its lane of writers waits its turn."""
    _request(url, "DELETE", f"{_DOCUMENTS}?id=none", None)


def _request(url: str, method: str, path: str, body: str | None) -> dict[str, Any]:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=_PATIENCE_S)
    try:
        connection.request(method, path, body, {"content-type": "application/json"})
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise InvalidInput(f"{method} {path}: {answer.get('detail', answer)}", hint=str(answer.get("hint", "")))
    return answer


def one_round(url: str, phrases: Sequence[str], documents: Sequence[Document]) -> Round:
    """Write while a client searches, and wait until all is done."""
    with Searcher(url, phrases) as searcher:
        sent = time.perf_counter()
        visible = searcher.saw(upsert(url, documents))
        wait_for_maintenance(url)
        done = time.perf_counter()
        return Round(visible - sent, searcher.between(sent, visible), searcher.between(visible, done))


def figures(vectors: str, units: int, wanted: Wanted, idle: Sequence[Answered], rounds: Sequence[Round]) -> Beside:
    """The figures of all rounds together."""
    writing = [answer for each in rounds for answer in each.writing]
    maintenance = [answer for each in rounds for answer in each.maintenance]
    idle_p99, writing_p99 = _ms(idle, 99), _ms(writing, 99)
    return Beside(
        vectors=vectors,
        units=units,
        documents=wanted.documents,
        rounds=len(rounds),
        visible_s=round(median(each.visible_s for each in rounds), 3),
        slowest_visible_s=round(max(each.visible_s for each in rounds), 3),
        idle_p50_ms=_ms(idle, 50),
        idle_p99_ms=idle_p99,
        writing_p50_ms=_ms(writing, 50),
        writing_p99_ms=writing_p99,
        p99_ratio=round(writing_p99 / idle_p99, 2),
        maintenance_p50_ms=_ms(maintenance, 50) if maintenance else None,
        maintenance_p99_ms=_ms(maintenance, 99) if maintenance else None,
        idle_searches=len(idle),
        writing_searches=len(writing),
        maintenance_searches=len(maintenance),
        errors=sum(not answer.ok for answer in (*idle, *writing, *maintenance)),
    )


def _ms(answers: Sequence[Answered], share: float) -> float:
    return percentile([answer.wall_ms for answer in answers], share)


def measure(collection: str, source: Path, units: int, wanted: Wanted, settings: Settings) -> list[Beside]:
    """Figures with precomputed vectors, then with encoding. Raises ``InvalidInput`` for a collection with nuggets."""
    cut = texts(source)
    phrases = some_phrases(cut, _PHRASES)
    # One more than are counted: the first is written to warm up.
    documents = some_documents(cut, wanted.document_units, wanted.rounds * wanted.documents + 1)
    encoders = Encoders(settings.encoder_options)
    with opened(collection, settings, encoders) as snapshot, TemporaryDirectory(prefix="spanseek-") as folder:
        recipe, split = _without_nuggets(snapshot.recipe), first_documents(snapshot, units)
        save(Path(folder), prepare(encoders.matching(recipe), documents))
        programs = {"precomputed": ("-m", "research.benchmarks.prepared", folder), "encoded": SERVE}
        return [
            _beside(vectors, program, split, recipe, phrases, documents, wanted)
            for vectors, program in programs.items()
        ]


def _without_nuggets(recipe: Recipe) -> Recipe:
    if recipe.details:
        raise InvalidInput(
            "The collection keeps nuggets, which cannot be prepared.", hint="Measure one without.", field="collection"
        )
    return recipe


def _beside(
    vectors: str,
    program: Sequence[str],
    split: Split,
    recipe: Recipe,
    phrases: Sequence[str],
    documents: Sequence[Document],
    wanted: Wanted,
) -> Beside:
    """The figures of one server on a copy of its own."""
    patience = str(_PATIENCE_S)
    with scratch_store() as store:
        units = publish_documents(store, split, recipe)
        with serving(store.data_dir, program, encoder=recipe.encoder, write_deadline_s=patience) as url:
            upsert(url, documents[:1])
            wait_for_maintenance(url)
            ask_all(url, phrases[:_WARM_UP])
            idle = ask_all(url, [phrases[number % len(phrases)] for number in range(wanted.searches)])
            begins = range(1, len(documents), wanted.documents)
            rounds = [one_round(url, phrases, documents[begin : begin + wanted.documents]) for begin in begins]
    return figures(vectors, units, wanted, idle, rounds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", required=True, help="an indexed collection, or a file or folder to index first")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--document-units", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--searches", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    wanted = Wanted(given.documents, given.document_units, given.rounds, given.searches)
    try:
        figures_by_server = [
            asdict(each) for each in measure(given.collection, given.source, given.units, wanted, Settings())
        ]
    except SpanseekError as error:
        raise SystemExit(f"Error: {error}\n{error.hint}") from error
    if given.json:
        print_json(figures_by_server)
        return
    for each in figures_by_server:
        for name, value in each.items():
            out.print(f"{name:18s} {value}", markup=False)


if __name__ == "__main__":
    main()
