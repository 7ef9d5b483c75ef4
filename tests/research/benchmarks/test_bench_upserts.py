"""Search beside writing: vectors that were prepared, what searches are counted, and the whole of it once."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from indexer.nuggets.recipe import NuggetRecipe, with_nuggets
from indexer.types import Recipe
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import Document, Part
from research.benchmarks.http_latency import Answered
from research.benchmarks.prepared import PreparedEncoder, load, prepare, save
from research.benchmarks.upserts import Round, Searcher, Wanted, _without_nuggets, figures, measure, one_round, upsert
from tests.research.benchmarks.conftest import write_source
from tests.workspace import Workspace

LONG = Document("long", (Part(" ".join(f"word{n}" for n in range(300))), Part("late fee")))
SHORT = Document("short", (Part("a refund, please"),))


class Handler(BaseHTTPRequestHandler):
    """A collection whose generation rises with every write; a document named ``bad`` fails."""

    protocol_version = "HTTP/1.1"
    generation = 1

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/search":
            self.answer({"took_ms": 1.0, "generation": Handler.generation, "hits": []})
            return
        Handler.generation += 1
        results = [{"id": each["id"], "status": "failed" if each["id"] == "bad" else "indexed"} for each in asked]
        self.answer({"results": results, "generation": Handler.generation})

    def do_DELETE(self) -> None:
        self.answer({"results": [], "generation": Handler.generation})

    def answer(self, body: dict[str, object]) -> None:
        written = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Handler.generation = 1
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_prepared_vectors_make_the_same_segment(tmp_path) -> None:
    """The long document takes several windows."""
    base = HashingEncoder()
    save(tmp_path, prepare(base, [LONG, SHORT]))
    stored = []
    for name, encoder in (("base", base), ("prepared", PreparedEncoder(base, load(tmp_path)))):
        (tmp_path / name).mkdir()
        with Workspace(tmp_path / name) as workspace:
            workspace.index([LONG, SHORT], encoder=encoder)
            (view,) = workspace.store.snapshot("c").views
            stored.append((np.array(view.segment.vectors), np.array(view.segment.scales)))
    for of_base, of_prepared in zip(*stored, strict=True):
        np.testing.assert_array_equal(of_base, of_prepared)


def test_prepared_vectors_are_no_others() -> None:
    encoder = PreparedEncoder(HashingEncoder(), prepare(HashingEncoder(), [SHORT]))
    assert encoder.fingerprint == HashingEncoder().fingerprint
    (tokens,) = encoder.tokenize(["late fee"])
    with pytest.raises(InvalidInput, match="not prepared"):
        list(encoder.forward([[tokens.ids]]))
    assert encoder.forward_query([tokens.ids])[0].shape == (2, encoder.dim)


def test_a_round_ends_when_searches_see_what_was_written(url) -> None:
    found = one_round(url, ["late fee", "refund"], [SHORT])
    assert found.visible_s > 0
    assert found.writing[-1].generation == 2
    assert {answer.generation for answer in found.writing[:-1]} <= {1}
    assert all(answer.ok and answer.generation == 2 for answer in found.maintenance)


def test_documents_that_fail_are_told(url) -> None:
    with pytest.raises(InvalidInput, match=r"1 documents were not indexed.*'bad'"):
        upsert(url, [SHORT, replace(SHORT, id="bad")])


def test_only_searches_of_the_time_are_counted(url) -> None:
    with Searcher(url, ["late fee"]) as searcher:
        first = searcher.saw(1)
        upsert(url, [SHORT])
        seen = searcher.saw(2)
    assert seen > first
    assert searcher.between(0.0, first)[0].generation == 1
    assert searcher.between(time.perf_counter(), time.perf_counter() + 1) == []
    everything = searcher.between(0.0, time.perf_counter())
    assert len(everything) >= len(searcher.between(0.0, seen)) >= 2


def test_figures_are_of_all_rounds() -> None:
    idle = [Answered(ms, 0.0, ok=True) for ms in (10.0, 10.0, 20.0)]
    slow, failed = Answered(40.0, 0.0, ok=True), Answered(40.0, 0.0, ok=False)
    rounds = [Round(1.0, [slow], []), Round(3.0, [slow, failed], [])]
    found = figures("encoded", 100, Wanted(documents=5), idle, rounds)
    assert (found.visible_s, found.slowest_visible_s, found.rounds) == (2.0, 3.0, 2)
    assert (found.idle_p50_ms, found.writing_p99_ms) == (10.0, 40.0)
    assert found.p99_ratio == pytest.approx(40 / np.percentile([10, 10, 20], 99), abs=0.01)
    assert (found.idle_searches, found.writing_searches, found.maintenance_searches, found.errors) == (3, 3, 0, 1)
    assert found.maintenance_p50_ms is None


def test_nuggets_cannot_be_prepared() -> None:
    recipe = Recipe("hashing", "f", 64)
    assert _without_nuggets(recipe) is recipe
    with pytest.raises(InvalidInput, match="nuggets"):
        _without_nuggets(with_nuggets(recipe, NuggetRecipe("n", 64, 0.1)))


@pytest.mark.slow("runs a benchmark")
def test_both_servers_show_what_is_written(tmp_path, plain_settings) -> None:
    """The servers are processes of their own."""
    collection, texts = write_source(tmp_path / "collection.ndjson", 12), write_source(tmp_path / "texts.ndjson", 100)
    wanted = Wanted(documents=3, document_units=20, rounds=2, searches=5)
    found = measure(str(collection), texts, 600, wanted, plain_settings)
    assert [each.vectors for each in found] == ["precomputed", "encoded"]
    for each in found:
        assert (each.units, each.rounds, each.idle_searches, each.errors) == (600, 2, 5, 0)
        assert each.writing_searches >= 2
        assert each.slowest_visible_s >= each.visible_s > 0
        assert json.loads(json.dumps(asdict(each))) == asdict(each)
