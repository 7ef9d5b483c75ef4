"""Many queries with floors and filters of their own find what a scan for each finds, however the work is cut."""

from collections.abc import Iterator

import numpy as np
import pytest

import indexer.engine.multi_query
from indexer.arrays import SpanTerms
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.executor import Executor
from indexer.engine.multi_query import QueryBatch, spans_over_floors
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from models.ops.similarity import normalize
from models.ops.span_score import SpanScore
from models.types import Document, Part, SpanBounds
from tests.executors import found_by
from tests.workspace import Workspace

QUERIES = 40
FILTERS = [Filter(), Filter({"kind": 1}), Filter({}, {"speaker": "agent"}), Filter({"none": 1})]
Rows = list[tuple[str, int, int, float]]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """Several blocks, of which the last one is short, with deleted documents."""
    with Workspace(tmp_path_factory.mktemp("many")) as made:
        texts = (" ".join(f"w{(number * step) % 53}" for step in range(1, 2 + number % 14)) for number in range(120))
        documents = [
            Document(f"d{number}", (Part(text, {"speaker": ["agent", "customer"][number % 2]}),), {"kind": number % 3})
            for number, text in enumerate(texts)
        ]
        made.index(documents, bounds=SpanBounds(2, 5))
        with lease(made.catalog, "c") as held:
            remove(made.catalog, held, ["d3", "d30", "d119"])
        opened = made.store.snapshot("c")
        segment = opened.views[0].segment
        segment.borders = np.random.default_rng(1).integers(0, 0x55, segment.manifest.units).astype(np.uint8)
        segment.borders[segment.part_units[:-1]] = 0x55
        segment.borders.flags.writeable = False
        yield opened


@pytest.fixture(scope="module")
def queries(snapshot: Snapshot) -> QueryBatch:
    rng = np.random.default_rng(5)
    mixed = rng.normal(size=(QUERIES, snapshot.recipe.dim))
    segment = snapshot.views[0].segment
    mixed[::2] = segment.vectors[rng.integers(0, len(segment.vectors), QUERIES // 2)]
    score = SpanScore(0.2, (-0.1, -0.05, 0, 0, 0, 0), (-0.3, 0, -0.02, 0, 0, 0))
    return QueryBatch(normalize(mixed).astype(np.float32), SpanTerms.of(score, np.arange(QUERIES) % 7))


@pytest.mark.parametrize(("at_once", "exact"), [(2**22, 2**13), (1, 1), (100, 7)])
def test_it_finds_what_scans_find(snapshot, queries, monkeypatch, at_once, exact) -> None:
    monkeypatch.setattr(indexer.engine.multi_query, "_RUNS_A_PASS", at_once)
    monkeypatch.setattr(indexer.engine.multi_query, "_EXACT_RUNS", exact)
    floors = np.random.default_rng(6).uniform(-0.3, 0.7, QUERIES)
    floors[[4, 11]] = np.inf
    filters = [FILTERS[number % len(FILTERS)] for number in range(QUERIES)]
    (view,) = snapshot.views
    segment = view.segment
    found: dict[int, Rows] = {}
    for number, spans in spans_over_floors(view, queries, floors, filters):
        assert number not in found
        rows = zip(spans.starts.tolist(), spans.ends.tolist(), spans.cosines.tolist(), strict=True)
        found[number] = sorted(
            (segment.document_id(int(segment.part_document[segment.part_of(start)])), start, end, cosine)
            for start, end, cosine in rows
        )
    expected: dict[int, Rows] = {}
    for number in np.flatnonzero(np.isfinite(floors)).tolist():
        wanted = Selection(10**9, float(floors[number]), "span", filters[number])
        one = slice(number, number + 1)
        (hits,) = found_by(Executor(), snapshot, queries.vectors[one], wanted, queries.terms.take(one))
        starts = {segment.document_id(document): int(segment.document_units[document]) for document in range(120)}
        rows = [(hit.document_id, starts[hit.document_id], hit.units, hit.cosine) for hit in hits]
        if rows:
            expected[number] = sorted((id, at + units.start, at + units.end, cosine) for id, at, units, cosine in rows)
    assert found == expected
    assert 10 < len(found) < QUERIES


def test_nothing_is_asked_where_nothing_can_reach(snapshot, queries) -> None:
    assert list(spans_over_floors(snapshot.views[0], queries, np.full(QUERIES, np.inf), [Filter()] * QUERIES)) == []
    nobody = QueryBatch(np.zeros((0, 0), np.float32))
    assert list(spans_over_floors(snapshot.views[0], nobody, np.zeros(0), [])) == []
