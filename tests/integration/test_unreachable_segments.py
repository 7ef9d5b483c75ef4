"""Segments that an executor cannot ask: answers go on without them, say so, and are whole again afterwards."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from indexer.engine.executor import Executor, ExecutorOptions, make_executor
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import SegmentsUnreachable
from indexer.segments.manifest import SegmentKey
from models.errors import ExtraMissing, SpanseekError
from tests.integration.http.conftest import Client, build
from tests.workspace import Workspace, records

Item = TypeVar("Item")


class Losing(Executor):
    """An executor that finds out in a round which of the ``lost`` segments it cannot ask."""

    name = "losing"

    def __init__(self) -> None:
        self.lost: set[str] = set()
        self._known: set[str] = set()
        self._reach = 0

    @property
    def reach(self) -> int:
        return self._reach

    def each(self, snapshot: Snapshot, read: Callable[[SegmentView], Item]) -> list[Item]:
        if found := self.lost & set(snapshot.names):
            self._known |= found
            self._reach += 1
            raise SegmentsUnreachable("Nobody answers.", hint="Retry.")
        return super().each(snapshot, read)

    def unreachable(self, key: SegmentKey) -> SpanseekError | None:
        name = key.folder.name
        return SegmentsUnreachable(f"Segment {name} is not searched.", hint="Retry.") if name in self._known else None

    def find(self) -> None:
        self.lost.clear()
        self._known.clear()
        self._reach += 1


@pytest.fixture
def executor() -> Losing:
    return Losing()


@pytest.fixture
def workspace(tmp_path: Path, executor: Losing) -> Iterator[Workspace]:
    with Workspace(tmp_path, executor=executor, words=True) as made:
        for number in range(3):
            made.index(records([(f"d{number}", f"the parcel never came to door {number}")]), merge=False)
        yield made


def answered(workspace: Workspace, **options: object) -> SearchAnswer:
    (answer,) = workspace.service.search(SearchRequest("c", text="the parcel never came", **options))
    return answer


def test_an_answer_goes_on_without_them_and_is_whole_again(workspace: Workspace, executor: Losing) -> None:
    whole = answered(workspace)
    names = workspace.store.snapshot("c").names
    assert len(names) == 3
    assert whole.degraded is None
    executor.lost = {names[0], names[2]}
    partial = answered(workspace)
    assert partial.degraded == tuple(f"Segment {names[at]} is not searched." for at in (0, 2))
    assert {hit.document_id for hit in partial.hits} == {"d1"}
    with pytest.raises(SegmentsUnreachable, match=names[0]):
        answered(workspace, total=True)
    executor.find()
    assert answered(workspace).hits == whole.hits


def test_where_all_are_lost_the_search_fails(workspace: Workspace, executor: Losing) -> None:
    executor.lost = set(workspace.store.snapshot("c").names)
    with pytest.raises(SegmentsUnreachable):
        answered(workspace)
    executor.find()
    assert answered(workspace).degraded is None


def test_over_http(tmp_path: Path, executor: Losing) -> None:
    body = {"collection": "sample", "text": "cancel my subscription"}
    with Client(build(tmp_path), executor) as client:
        assert "degraded" not in client.post("/search", body).json()
        executor.lost = {"none"} | {path.name for path in (tmp_path / "collections").glob("*/*") if path.is_dir()}
        refused = client.post("/search", body)
        assert (refused.status_code, refused.json()["code"]) == (503, "segments_unreachable")
        assert refused.headers["retry-after"] == "1"
        executor.find()
        assert client.post("/search", body).status_code == 200


def test_an_engine_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.engine.executor.entry_points_of", lambda group: {})
    with pytest.raises(ExtraMissing, match=r"The engine ray needs `pip install 'spanseek\[ray\]'`"):
        make_executor("ray", ExecutorOptions())
