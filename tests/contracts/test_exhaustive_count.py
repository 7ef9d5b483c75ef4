"""An exhaustive count has what searches find, were there no top k: judged by the naive oracle, to the last bit."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.arrays import SpanTerms
from indexer.engine import exhaustive_count
from indexer.engine.executor import Executor
from indexer.engine.exhaustive_count import SpanCounts
from indexer.engine.query import EVERYTHING, Filter, Selection
from indexer.engine.snapshot import Snapshot
from models.errors import InvalidInput
from tests.contracts.test_executors import (
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
from tests.executors import ON_CLUSTER, ProcessExecutor, found_by


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counts")


class Counted:
    """The best spans of documents, and those over a floor."""

    def __init__(
        self, snapshot: Snapshot, query: np.ndarray, floor: float | None, wanted: Filter, terms: SpanTerms | None = None
    ) -> None:
        parts = snapshot.map(SpanCounts(query, floor, terms), Selection(EVERYTHING, filter=wanted)).parts
        best, above = ([rows[at].row(row) for rows in parts for row in range(len(rows[at]))] for at in (0, 1))
        self.documents, self.spans = (list(map(snapshot.scored, rows)) for rows in (best, above))

    @property
    def cosines(self) -> np.ndarray:
        return np.array([span.cosine for span in self.spans])


@pytest.fixture(scope="module", params=[Executor(), ProcessExecutor(), *ON_CLUSTER], ids=lambda executor: executor.name)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    yield request.param
    request.param.close()


def check(
    executor: Executor,
    case: Case,
    query: np.ndarray,
    floor: float | None,
    wanted: Filter,
    scoring: Scoring | None = None,
) -> Counted:
    found = Counted(case.snapshot.read_by(executor), query, floor, wanted, terms_of(scoring))
    best = {
        hit.document_id: hit
        for hit in oracle(case, query, Selection(EVERYTHING, None, "document", wanted), kernel_score, scoring)
    }
    assert {hit.document_id: hit.cosine for hit in found.documents} == {id: hit.cosine for id, hit in best.items()}
    assert all((hit.units.start, hit.units.end) == best[hit.document_id].units for hit in found.documents)
    if floor is not None:
        spans = oracle(case, query, Selection(EVERYTHING, floor, "span", wanted), kernel_score, scoring)
        assert sorted(found.cosines) == sorted(hit.cosine for hit in spans)
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
def test_any_count_is_the_oracles(executor, folder, segments, bounds, kind, seed, dead, floor, wanted, scoring) -> None:
    scoring = scoring_of(scoring)
    case = collection(folder, bounds, segments, kind, seed, dead, bordered=scoring is not None)
    query = unit(np.random.default_rng(seed + 1).normal(size=DIM))
    check(executor, case, query, floor, wanted, scoring and scoring.alone(0))


@pytest.mark.ci("many vectors")
@pytest.mark.parametrize(("kind", "bounds"), [*((kind, (1, 20)) for kind in KINDS), ("drift", (40, 64))])
def test_parts_longer_than_blocks(folder: Path, kind: str, bounds: tuple[int, int]) -> None:
    case = collection(folder, bounds, [[[560, 0, 1], [3]], [[200, 90]]], kind, 5, set())
    query = unit(np.random.default_rng(6).normal(size=DIM))
    found = check(Executor(), case, query, 0.3, Filter())
    (searched,) = found_by(Executor(), case.snapshot, query[None], Selection(EVERYTHING, 0.3, "span"))
    assert sorted(found.cosines) == sorted(hit.cosine for hit in searched)


def test_spans_over_one_floor_tell_of_every_higher_one(folder: Path) -> None:
    """Suppression never looks down: what survives over a floor survives over a lower one, and the other way round."""
    case = collection(folder, (1, 8), [[[60], [40, 7]]], "drift", 4, set())
    query = unit(np.random.default_rng(1).normal(size=DIM))
    low = Counted(case.snapshot, query, -1.0, Filter()).cosines
    for floor in np.linspace(-1, 1, 21).tolist():
        assert sorted(Counted(case.snapshot, query, floor, Filter()).cosines) == sorted(low[low >= floor])


def test_an_empty_collection_has_nothing_to_count(folder: Path) -> None:
    found = Counted(collection(folder, (1, 8), [], "random", 1, set()).snapshot, unit(np.ones(DIM)), 0.0, Filter())
    assert found.documents == found.spans == []


@pytest.mark.ci("many vectors")
def test_more_spans_than_memory_should_hold_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = collection(folder, (1, 8), [[[60], [40, 7]]], "random", 4, set())
    query = unit(np.random.default_rng(1).normal(size=DIM))
    monkeypatch.setattr(exhaustive_count, "MAX_STARTS", 20)
    with pytest.raises(InvalidInput, match="start at 107 places") as refused:
        Counted(case.snapshot, query, -1.0, Filter())
    assert refused.value.field == "floor"
    assert len(Counted(case.snapshot, query, None, Filter()).documents) == 2
