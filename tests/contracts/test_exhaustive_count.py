"""The census counts what searches find, were there no top k: judged by the naive oracle, to the last bit."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.engine import exhaustive_count as census
from indexer.engine.exhaustive_count import SpanCount, count_spans
from indexer.engine.query import Filter, Selection
from indexer.engine.scan import ScanEngine
from models.errors import InvalidInput
from tests.contracts.test_engines import (
    BOUNDS,
    DIM,
    KINDS,
    Case,
    Scoring,
    collection,
    collections,
    kernel_score,
    oracle,
    scoring_of,
    scorings,
    terms_of,
    unit,
)
from tests.examples import examples

EVERYTHING = 10**9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("census")


def check(
    case: Case, query: np.ndarray, floor: float | None, wanted: Filter, scoring: Scoring | None = None
) -> SpanCount:
    found = count_spans(case.snapshot, query, floor, wanted, terms_of(scoring))
    best = {
        hit.document_id: hit
        for hit in oracle(case, query, Selection(EVERYTHING, None, "document", wanted), kernel_score, scoring)
    }
    documents = [found.document(row) for row in range(len(found.documents))]
    assert {hit.document_id: hit.cosine for hit in documents} == {id: hit.cosine for id, hit in best.items()}
    assert [hit.cosine for hit in documents] == found.documents.tolist()
    assert all((hit.units.start, hit.units.end) == best[hit.document_id].units for hit in documents)
    with pytest.raises(IndexError):
        found.document(len(documents))
    if floor is None:
        assert found.spans is None
    else:
        spans = oracle(case, query, Selection(EVERYTHING, floor, "span", wanted), kernel_score, scoring)
        assert sorted(found.spans) == sorted(hit.cosine for hit in spans)
    return found


@settings(max_examples=examples(40))
@given(
    collections,
    st.sampled_from(BOUNDS),
    st.sampled_from(KINDS),
    st.integers(0, 2**32 - 1),
    st.sets(st.integers(0, 11), max_size=3),
    st.one_of(st.none(), st.floats(-1, 1)),
    st.sampled_from([Filter(), Filter(), Filter({"colour": "red"}), Filter({}, {"turn": 1}), Filter({"shape": 1})]),
    scorings,
)
def test_any_census_is_the_oracles(folder, segments, bounds, kind, seed, dead, floor, wanted, scoring) -> None:
    scoring = scoring_of(scoring)
    case = collection(folder, bounds, segments, kind, seed, dead, bordered=scoring is not None)
    query = unit(np.random.default_rng(seed + 1).normal(size=DIM))
    check(case, query, floor, wanted, scoring and scoring.alone(0))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bounds"), [*((kind, (1, 20)) for kind in KINDS), ("drift", (40, 64))])
def test_parts_longer_than_blocks(folder: Path, kind: str, bounds: tuple[int, int]) -> None:
    case = collection(folder, bounds, [[[560, 0, 1], [3]], [[200, 90]]], kind, 5, set())
    query = unit(np.random.default_rng(6).normal(size=DIM))
    found = check(case, query, 0.3, Filter())
    (searched,) = ScanEngine().search(case.snapshot, query[None], Selection(EVERYTHING, 0.3, "span"))
    assert sorted(found.spans) == sorted(hit.cosine for hit in searched)


def test_spans_over_one_floor_tell_of_every_higher_one(folder: Path) -> None:
    """Suppression never looks down: what survives over a floor survives over a lower one, and the other way round."""
    case = collection(folder, (1, 8), [[[60], [40, 7]]], "drift", 4, set())
    query = unit(np.random.default_rng(1).normal(size=DIM))
    low = count_spans(case.snapshot, query, -1.0).spans
    for floor in np.linspace(-1, 1, 21).tolist():
        assert sorted(count_spans(case.snapshot, query, floor).spans) == sorted(low[low >= floor])


def test_an_empty_collection_has_nothing_to_count(folder: Path) -> None:
    found = count_spans(collection(folder, (1, 8), [], "random", 1, set()).snapshot, unit(np.ones(DIM)), 0.0)
    assert (found.documents.tolist(), found.spans.tolist()) == ([], [])


def test_more_spans_than_memory_should_hold_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = collection(folder, (1, 8), [[[60], [40, 7]]], "random", 4, set())
    query = unit(np.random.default_rng(1).normal(size=DIM))
    monkeypatch.setattr(census, "MAX_STARTS", 20)
    with pytest.raises(InvalidInput, match="start at 107 places") as refused:
        count_spans(case.snapshot, query, -1.0)
    assert refused.value.field == "floor"
    assert len(count_spans(case.snapshot, query, None).documents) == 2
