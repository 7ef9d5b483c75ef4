"""One suite for every executor: what it returns is what the naive oracle returns on the stored vectors.

The scan owes the oracle every hit in its place. Its figures are judged against naive sums on their own (test_kernels);
here the oracle takes them as they are, so that spans which only rounding tells apart come in a decided order.
"""

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer import kernels
from indexer.ann.candidates import CandidateExecutor
from indexer.arrays import BLOCK, SegmentArrays, SpanTerms
from indexer.engine.device import DeviceExecutor
from indexer.engine.executor import Executor
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.ops.quantization import quantize
from models.ops.span_score import BORDERS, SpanScore
from models.types import Document, Part, SpanBounds
from plugins.ray.tests.shared_cluster import CLUSTER
from tests import reference
from tests.examples import examples
from tests.executors import ON_CLUSTER, ProcessExecutor, found_by
from tests.materialized import MaterializedExecutor
from tests.reference import PART_BORDER, RefDocument, RefPart, RefScore

DIM = 8
# Without windows, as here, candidates are everything; tests/contracts/test_candidates.py has them with windows.
EXECUTORS = [Executor(), MaterializedExecutor(), CandidateExecutor(), DeviceExecutor("cpu"), ProcessExecutor()]
EVERYWHERE = [*EXECUTORS, *ON_CLUSTER]
BOUNDS = [(1, 20), (2, 5), (5, 5), (1, 64), (1, 1), (33, 64)]
KINDS = ["random", "ties", "cancel", "zero", "drift", "sizes", "negative", "repeats"]
_number = count()
_codes: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}


@dataclass(frozen=True)
class Case:
    """A snapshot, and the live documents of it as the oracle sees them."""

    snapshot: Snapshot
    documents: list[RefDocument]


def vectors_of(kind: str, rng: np.random.Generator, size: int) -> np.ndarray:
    vectors = rng.normal(size=(size, DIM))
    if kind == "ties":
        vectors = np.eye(DIM)[rng.integers(0, 3, size)]
    elif kind == "cancel":
        vectors = vectors.round() * rng.choice([-1, 1], (size, 1))
        vectors[1::2] = -vectors[: size - 1 : 2][: len(vectors[1::2])]
    elif kind == "zero":
        vectors[rng.random(size) < 0.5] = 0
    elif kind == "drift":
        vectors += 4
    elif kind == "sizes":
        vectors *= 10.0 ** rng.integers(-4, 5, (size, 1))
    elif kind == "repeats":
        vectors = np.random.default_rng(0).normal(size=(4, DIM))[np.arange(size) % rng.integers(1, 5)]
    elif kind == "negative":
        vectors = -np.abs(vectors) - 1
    return vectors.astype(np.float32)


def collection(
    folder: Path,
    bounds: tuple[int, int],
    segments: list[list[list[int]]],
    kind: str,
    seed: int,
    dead: set[int],
    bordered: bool = False,
) -> Case:
    """Segments of documents, each given by the sizes of its parts. Ids do not follow the order of storage.

    Where they are bordered, every other segment stores borders, drawn at random.
    """
    rng, recipe = np.random.default_rng(seed), Recipe("none", "none", DIM, SpanBounds(*bounds))
    views, live, number = [], [], 0
    for documents in segments:
        path = folder / f"{next(_number):08d}"
        tombstones, borders = [], []
        stores_borders = bordered and len(views) % 2 == 0
        with SegmentWriter(path, recipe) as writer:
            for ordinal, sizes in enumerate(documents):
                document, units, vectors, reference_document = _document(number, sizes, kind, rng, stores_borders)
                borders += [start + 16 * end for part in reference_document.parts for start, end in part.borders]
                writer.add_document(document, "", units)
                writer.add_vectors(vectors)
                if number in dead:
                    tombstones.append(ordinal)
                else:
                    live.append(reference_document)
                number += 1
            segment = Segment(path, writer.finish().manifest_sha256)
        # Without borders it is as a segment of before version 0.3.
        segment.borders = np.array(borders if stores_borders else [0] * segment.manifest.units, np.uint8)
        segment.borders.flags.writeable = False
        views.append(SegmentView(segment, np.array(tombstones, np.int64)))
    return Case(Snapshot(Generation(1, (), recipe), views), live)


def _document(number: int, sizes: list[int], kind: str, rng: np.random.Generator, stores_borders: bool) -> Any:
    metadata = {"colour": ["red", "blue"][number % 2]}
    parts, units, stored, start = [], [], [], 0
    for position, size in enumerate(sizes):
        spans = np.stack([np.arange(size) * 2, np.arange(size) * 2 + 1], axis=1).astype(np.int64)
        vectors = vectors_of(kind, rng, size)
        part = Part(" ".join("x" * size), {"turn": position % 3})
        parts.append(part)
        units.append(PartUnits(spans, 0))
        characters = [(int(a), int(b)) for a, b in spans + start]
        codes, scales = quantize(vectors)
        dequantised = codes.astype(np.float64) * scales.astype(np.float64)[:, None]
        _codes[dequantised.tobytes()] = codes, scales
        within = (
            (rng.integers(0, PART_BORDER, (size, 2)) * (rng.random((size, 1)) < 0.5)).tolist() if stores_borders else []
        )
        borders = [(PART_BORDER, PART_BORDER), *map(tuple, within)][: len(within)]
        stored.append((vectors, RefPart(dequantised, characters, part.metadata, borders)))
        start += len(part.text) + 1
    identity = f"{(number * 400 + 500) % 997:03d}"
    document = Document(identity, tuple(parts), metadata)
    vectors = np.concatenate([np.zeros((0, DIM), np.float32), *(vectors for vectors, _ in stored)])
    return document, units, vectors, RefDocument(identity, [part for _, part in stored], metadata)


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def kernel_score(query: np.ndarray, vectors: np.ndarray, spans: list[tuple[int, int]]) -> list[float]:
    """The engine's own exact figures. Codes are looked up by what they stand for."""
    codes, scales = _codes[vectors.tobytes()]
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    owners = np.zeros(len(starts), np.int64)
    stored = SegmentArrays(
        codes,
        scales,
        np.empty((0, 1, BLOCK), np.uint8),
        np.empty((0, 1, 2), np.float32),
        1,
        np.zeros(len(codes), np.uint8),
    )
    return kernels.rescore(stored, starts.copy(), ends.copy(), query[None], owners).tolist()


@dataclass(frozen=True)
class Scoring:
    """The span score of queries of some units and sentences."""

    score: SpanScore
    units: list[int]
    sentences: list[int]

    @property
    def terms(self) -> SpanTerms:
        return SpanTerms.of(self.score, np.array(self.units), np.array(self.sentences))

    def alone(self, query: int) -> "Scoring":
        return Scoring(self.score, self.units[query : query + 1], self.sentences[query : query + 1])

    @property
    def of_reference(self) -> RefScore:
        score, crossing = self.score, self.score.crossing if self.sentences[0] <= 1 else 0.0
        return RefScore(self.units[0], score.discount, score.start, score.end, crossing)


def terms_of(scoring: Scoring | None) -> SpanTerms | None:
    return None if scoring is None else scoring.terms


# Round numbers make ties; the others must not.
added = st.lists(st.sampled_from([0.0, -0.25, -0.03, -0.1234567]), min_size=BORDERS, max_size=BORDERS).map(tuple)
query_units = st.lists(st.integers(0, 30), min_size=4, max_size=4)
query_sentences = st.lists(st.integers(1, 2), min_size=4, max_size=4)
crossings = st.sampled_from([0.0, -0.1, -1.0])
parameters = st.tuples(st.sampled_from([0.0, 0.15, 0.7]), added, added, crossings)
scorings = st.one_of(st.none(), st.tuples(parameters, query_units, query_sentences))


def scoring_of(drawn: Any) -> Scoring | None:
    """What was drawn from ``scorings``, for four queries."""
    return None if drawn is None else Scoring(SpanScore(*drawn[0]), *drawn[1:])


def oracle(
    case: Case,
    query: np.ndarray,
    wanted: Selection,
    score: reference.Score | None,
    scoring: Scoring | None = None,
) -> list[reference.RefHit]:
    bounds = case.snapshot.recipe.bounds
    return reference.hits(
        case.documents,
        query,
        (bounds.shortest, bounds.longest),
        top_k=wanted.top_k,
        floor=wanted.floor,
        group_by=wanted.group_by,
        document_filter=wanted.filter.document,
        part_filter=wanted.filter.part,
        score=score,
        span_score=None if scoring is None else scoring.of_reference,
    )


def place(hit: ScoredSpan) -> tuple[str, tuple[int, int], tuple[int, int]]:
    return hit.document_id, (hit.units.start, hit.units.end), (hit.span.start, hit.span.end)


def check(
    executor: Executor, case: Case, query: np.ndarray, wanted: Selection, scoring: Scoring | None = None
) -> list[ScoredSpan]:
    (found,) = found_by(executor, case.snapshot, query[None], wanted, terms_of(scoring))
    if executor.name != "materialized":
        expected = oracle(case, query, wanted, kernel_score, scoring)
        assert [place(hit) for hit in found] == [(hit.document_id, hit.units, hit.characters) for hit in expected]
        np.testing.assert_allclose([h.cosine for h in found], [h.cosine for h in expected], atol=1e-9)
    else:
        expected = oracle(case, query, wanted, None, scoring)
        check_loosely(found, expected, wanted)
    assert found == sorted(found, key=lambda hit: hit.order)
    return found


def check_loosely(found: list[ScoredSpan], expected: list[reference.RefHit], wanted: Selection) -> None:
    """Within float32: near ties may change places, and then suppress different neighbours."""
    if wanted.group_by != "span" and wanted.floor is None:
        assert len(found) == len(expected)
        np.testing.assert_allclose([h.cosine for h in found], [h.cosine for h in expected], atol=1e-3)
    elif expected and (wanted.floor is None or expected[0].cosine > wanted.floor + 1e-3):
        assert found[0].cosine == pytest.approx(expected[0].cosine, abs=1e-3)


sizes = st.one_of(st.just(0), st.integers(0, 8), st.integers(20, 70))
documents = st.lists(sizes, max_size=4)
collections = st.lists(st.lists(documents, max_size=4), max_size=3)
selections = st.tuples(
    st.sampled_from([1, 2, 5, 17, 1000]),
    st.one_of(st.none(), st.floats(-1, 1)),
    st.sampled_from(["span", "part", "document"]),
    st.sampled_from([{}, {}, {"colour": "red"}, {"colour": None}, {"shape": 1}]),
    st.sampled_from([{}, {}, {"turn": 1}, {"turn": True}]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engines")


drawn_cases = given(
    collections,
    st.sampled_from(BOUNDS),
    st.sampled_from(KINDS),
    st.integers(0, 2**32 - 1),
    st.sets(st.integers(0, 11), max_size=3),
    selections,
    scorings,
)


@pytest.mark.ci("many examples")
@pytest.mark.parametrize("executor", EXECUTORS[:-1], ids=lambda executor: executor.name)
@settings(max_examples=examples(40))
@drawn_cases
def test_any_search_is_the_oracles(executor, folder, segments, bounds, kind, seed, dead, selection, scoring) -> None:
    check_search(executor, folder, segments, bounds, kind, seed, dead, selection, scoring)


@settings(max_examples=examples(8), deadline=None)
@drawn_cases
def test_so_it_is_where_segments_are_in_other_processes(
    folder, segments, bounds, kind, seed, dead, selection, scoring
) -> None:
    check_search(EXECUTORS[-1], folder, segments, bounds, kind, seed, dead, selection, scoring)


@pytest.mark.slow("a cluster or many segments")
@settings(max_examples=examples(60), deadline=None)
@drawn_cases
def test_so_it_is_on_a_cluster(folder, segments, bounds, kind, seed, dead, selection, scoring) -> None:
    check_search(CLUSTER, folder, segments, bounds, kind, seed, dead, selection, scoring)


def check_search(executor, folder, segments, bounds, kind, seed, dead, selection, scoring) -> None:
    scoring = scoring_of(scoring)
    top_k, floor, group_by, of_document, of_part = selection
    wanted = Selection(top_k, floor, group_by, Filter(of_document, of_part))
    case = collection(folder, bounds, segments, kind, seed, dead, bordered=scoring is not None)
    queries = unit(np.random.default_rng(seed + 1).normal(size=(4, DIM)))
    alone = check(executor, case, queries[0], wanted, scoring and scoring.alone(0))
    together = found_by(executor, case.snapshot, queries, wanted, terms_of(scoring))[0]
    assert [(place(h), h.cosine) for h in together] == [(place(h), h.cosine) for h in alone]


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
@pytest.mark.parametrize(
    ("kind", "bounds"), [*((kind, (1, 20)) for kind in KINDS), ("random", (5, 5)), ("drift", (40, 64))]
)
def test_parts_longer_than_blocks(executor: Executor, folder: Path, kind: str, bounds: tuple[int, int]) -> None:
    case = collection(folder, bounds, [[[560, 0, 1], [3]], [[200, 90]]], kind, 5, set(), bordered=True)
    query = unit(np.random.default_rng(6).normal(size=DIM))
    check(executor, case, query, Selection(top_k=7))
    check(executor, case, query, Selection(top_k=2, group_by="part"))
    borders = (-0.06, -0.03, 0.0, 0.0, -0.01, 0.0)
    check(executor, case, query, Selection(top_k=7), Scoring(SpanScore(0.15, borders, borders[::-1], -0.1), [9], [1]))


REPEATING = [[[1300], [3], [700, 40, 40, 640]], [[200] * 5, [64] * 12]]


@pytest.mark.parametrize("executor", [Executor(), DeviceExecutor("cpu")], ids=lambda executor: executor.name)
@pytest.mark.parametrize("group_by", ["span", "part", "document"])
@pytest.mark.parametrize("seed", range(4))
def test_runs_that_repeat_are_no_hits_less(executor, folder, monkeypatch, group_by, seed) -> None:
    """However few equal runs of a document are scored, the hits are those of the oracle."""
    monkeypatch.setattr("indexer.engine.repeats.MANY", 0)
    case = collection(folder, [(1, 3), (2, 20), (5, 5), (1, 64)][seed], REPEATING, "repeats", seed, {1}, seed > 1)
    queries = unit(np.random.default_rng(seed).normal(size=(4, DIM)))
    for top_k, part in ((1, {}), (3, {}), (3, {"turn": 1})):
        wanted = Selection(top_k, None, group_by, Filter({}, part))
        alone = check(executor, case, queries[0], wanted)
        together = found_by(executor, case.snapshot, queries, wanted, None)[0]
        assert [(place(hit), hit.cosine) for hit in together] == [(place(hit), hit.cosine) for hit in alone]


@pytest.mark.parametrize("group_by", ["span", "part", "document"])
def test_a_document_of_equal_units_is_not_scored_whole(folder, monkeypatch, group_by) -> None:
    case = collection(folder, (1, 20), [[[30_000], [300]]], "repeats", 1, set())
    scored = []

    def counting(segment, starts, *given):
        scored.append(len(starts))
        return rescore(segment, starts, *given)

    rescore = kernels.rescore
    query = unit(np.random.default_rng(3).normal(size=(1, DIM)))
    wanted = Selection(10, None, group_by)
    with monkeypatch.context() as patched:
        patched.setattr(kernels, "rescore", counting)
        found = found_by(Executor(), case.snapshot, query, wanted, None)
    runs = 2 * wanted.top_k + 4 * 4  # of each phase at which the units of a run may begin, and at the ends
    assert sum(scored) <= runs * kernels.RUN * 20
    monkeypatch.setattr("indexer.engine.repeats.MANY", 10**9)
    assert found == found_by(Executor(), case.snapshot, query, wanted, None)


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
def test_more_than_one_pass_of_the_writer(executor: Executor, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The norms are computed in passes; a span that reaches into the next one is none the worse."""
    monkeypatch.setattr("indexer.segments.norms._BLOCKS_A_PASS", 1)
    case = collection(folder, (1, 20), [[[600]]], "random", 3, set())
    for begin in range(240, 280, 8):
        query = unit(case.documents[0].parts[0].vectors[begin : begin + 20].sum(axis=0))
        (hit,) = check(executor, case, query, Selection(top_k=1))
        assert hit.cosine > 0.99


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
def test_several_queries_at_once_equal_one_by_one(executor: Executor, folder: Path) -> None:
    case = collection(folder, (1, 20), [[[40, 3], []], [[300]]], "drift", 1, {1})
    queries = unit(np.random.default_rng(2).normal(size=(5, DIM)))
    together = found_by(executor, case.snapshot, queries, Selection(top_k=9))
    alone = [found_by(executor, case.snapshot, query[None], Selection(top_k=9))[0] for query in queries]
    assert [[(place(h), h.cosine) for h in hits] for hits in together] == [
        [(place(h), h.cosine) for h in hits] for hits in alone
    ]
    assert found_by(executor, case.snapshot, queries[:0], Selection()) == []


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
@pytest.mark.parametrize("group_by", ["span", "part", "document"])
@pytest.mark.parametrize("segments", [[], [[]], [[[]]], [[[0, 0]]], [[[1]]], [[[1], [0]], []]])
def test_next_to_nothing(executor: Executor, folder: Path, segments: Any, group_by: Any) -> None:
    case = collection(folder, (1, 20), segments, "random", 1, set())
    query = unit(np.ones(DIM))
    check(executor, case, query, Selection(top_k=1000, group_by=group_by))
    check(executor, case, query, Selection(top_k=3, group_by=group_by, floor=0.9999))


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
def test_ties_are_decided_by_document_id(executor: Executor, folder: Path) -> None:
    case = collection(folder, (1, 1), [[[150], [150], [150]], [[70]]], "ties", 8, set())
    query = unit(np.eye(DIM)[0])
    everything = check(executor, case, query, Selection(top_k=1000))
    for top_k in (1, 3, 20, 100):
        some = check(executor, case, query, Selection(top_k=top_k))
        assert [place(hit) for hit in some] == [place(hit) for hit in everything[:top_k]]


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
def test_where_all_cancels_out_there_is_nothing(executor: Executor, folder: Path) -> None:
    case = collection(folder, (2, 2), [[[2], [2]]], "cancel", 3, set())
    assert check(executor, case, unit(np.ones(DIM)), Selection()) == []


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
def test_one_giant_unit_does_not_hide_the_small(executor: Executor, folder: Path) -> None:
    """Float32 prefix sums lose the small units beside it; the error bound must know."""
    case = collection(folder, (1, 20), [[[250]]], "sizes", 4, set())
    for unit_number in (100, 200):
        query = unit(case.documents[0].parts[0].vectors[unit_number])
        assert check(executor, case, query, Selection(top_k=1))[0].cosine == pytest.approx(1, abs=1e-5)


def test_two_executors_agree_on_the_best_span_of_every_part(folder: Path) -> None:
    segments = [[[30, 12, 5], [64]], [[300], [7, 7]]]
    for kind in KINDS:
        case = collection(folder, (1, 20), segments, kind, 11, set())
        queries = unit(np.random.default_rng(12).normal(size=(4, DIM)))
        wanted = Selection(top_k=1000, group_by="part")
        scan, literal = (found_by(executor, case.snapshot, queries, wanted) for executor in EXECUTORS[:2])
        for one, other in zip(scan, literal, strict=True):
            best = {(h.document_id, h.place.part_span): h.cosine for h in one}
            again = {(h.document_id, h.place.part_span): h.cosine for h in other}
            assert best.keys() == again.keys()
            assert all(abs(best[part] - again[part]) <= 1e-3 for part in best), kind


@pytest.mark.parametrize(
    ("executor", "held"), [(DeviceExecutor("cpu"), 2), (MaterializedExecutor(), 2), (Executor(), 0)]
)
def test_executors_say_what_they_hold_and_free_it(executor: Executor, held: int, folder: Path) -> None:
    case = collection(folder, (1, 3), [[[9]], [[5]]], "random", 1, set())
    assert executor.health() is None
    assert executor.held_segments == 0
    found_by(executor, case.snapshot, unit(np.ones((1, DIM))), Selection())
    assert executor.held_segments == held
    executor.close()
    assert executor.held_segments == 0


def test_materialized_tells_segments_of_equal_name_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor, query = MaterializedExecutor(), unit(np.ones(DIM))
    for name in ("one", "two"):
        monkeypatch.setitem(globals(), "_number", count())
        check(executor, collection(tmp_path / name, (1, 3), [[[9]]], name, len(name), set()), query, Selection())


def test_dimensions_that_would_overflow(tmp_path: Path) -> None:
    """A long vector and a query of equal signs: the largest dot product there can be."""
    dim = 3000
    recipe = Recipe("none", "none", dim, SpanBounds(1, 1))
    with SegmentWriter(tmp_path / "segment", recipe) as writer:
        writer.add_document(Document("a", (Part("x y"),)), "", [PartUnits(np.array([[0, 1], [2, 3]]), 0)])
        writer.add_vectors(np.stack([np.ones(dim), -np.ones(dim)]).astype(np.float32))
        segment = Segment(tmp_path / "segment", writer.finish().manifest_sha256)
    snapshot = Snapshot(Generation(1, (), recipe), [SegmentView(segment, np.zeros(0, np.int64))])
    (hits,) = found_by(Executor(), snapshot, unit(np.ones((1, dim))), Selection(top_k=1))
    assert hits[0].cosine == pytest.approx(1)
    assert hits[0].units.start == 0
