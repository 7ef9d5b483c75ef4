"""A job may die anywhere: searches go on as before, and the next run completes the work and clears up."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import indexer.catalog.publish
import indexer.indexing.matching
import indexer.indexing.pipeline
import indexer.segments.writer
from indexer.segments.writer import SegmentWriter
from indexer.sources import Record
from models.encoders.hashing import HashingEncoder
from tests.workspace import Workspace, document

OLD = [document(f"d{number}", f"old needle{number}") for number in range(40)]
NEW = [document(f"d{number}", f"new needle{number} " + "hay " * 60) for number in range(20, 120)]


class Crash(BaseException):
    """The end of the process, as far as code under test can tell: nothing that handles errors handles it."""


class CrashingEncoder(HashingEncoder):
    """Gives up after some batches."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.batch_tokens = 256
        self._batches = batches

    def forward(self, batches: Any) -> Iterator[Any]:
        for vectors in super().forward(batches):
            if not self._batches:
                raise Crash
            self._batches -= 1
            yield vectors


def _crashing(real: Callable[..., Any], *, after: int, done: bool = False) -> Callable[..., Any]:
    """The real thing some times, then a crash: before its work, or when it is ``done``."""
    calls = 0

    def crash(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls <= after:
            return real(*arguments, **options)
        if done:
            real(*arguments, **options)
        raise Crash

    return crash


def _patch(owner: object, name: str, **options: Any) -> Callable[[pytest.MonkeyPatch, int], None]:
    def patch(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        monkeypatch.setattr(owner, name, _crashing(getattr(owner, name), after=after, **options))

    return patch


STAGES = {
    "in finish": _patch(SegmentWriter, "finish"),
    "after finish": _patch(SegmentWriter, "finish", done=True),
    "in the manifest": _patch(indexer.segments.writer, "write_norms", done=True),
    "between rename and publish": _patch(indexer.indexing.matching, "publish"),
    "at the end of publish": _patch(indexer.catalog.publish, "_set_generation", done=True),
    "in the middle of publish": _patch(indexer.catalog.publish, "_add_documents"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    encoder = HashingEncoder()
    encoder.batch_tokens = 256
    with Workspace(tmp_path, encoder) as made:
        made.index(OLD)
        yield made


def _assert_as_before(workspace: Workspace) -> None:
    assert workspace.catalog.generation("c") == 1
    assert workspace.found("old") == {(one.id, "old") for one in OLD}
    assert workspace.found("new") == set()


def _assert_complete(workspace: Workspace) -> None:
    assert workspace.found("old") == {(one.id, "old") for one in OLD[:20]}
    assert workspace.found("new") == {(one.id, "new") for one in NEW}
    assert workspace.catalog.collection("c").documents == 120
    assert workspace.folders() == workspace.live()


@pytest.mark.parametrize("stage", STAGES)
def test_a_crash_changes_nothing(stage: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patches:
        STAGES[stage](patches, 0)
        with pytest.raises(Crash):
            workspace.index(NEW)
    _assert_as_before(workspace)
    assert workspace.folders() > workspace.live()
    workspace.index(NEW)
    _assert_complete(workspace)


@pytest.mark.parametrize("stage", STAGES)
def test_a_crash_loses_one_segment_at_most(stage: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patches:
        STAGES[stage](patches, 1)
        with pytest.raises(Crash):
            workspace.index(NEW, segment_units=1)
    assert workspace.catalog.generation("c") == 2
    published = workspace.found("new")
    assert 0 < len(published) < len(NEW)
    assert {id for id, _ in workspace.found("old")}.isdisjoint({id for id, _ in published})
    report = workspace.index(NEW, segment_units=1)
    assert report.unchanged == len(published)
    _assert_complete(workspace)


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_an_error_leaves_no_files(error: type[BaseException], workspace: Workspace, monkeypatch: Any) -> None:
    """Unlike a process that ends, one that goes on removes what it wrote."""
    with monkeypatch.context() as patches:
        patches.setattr(indexer.segments.writer, "write_norms", _raising(error))
        with pytest.raises(error):
            workspace.index(NEW)
    _assert_as_before(workspace)
    assert workspace.folders() == workspace.live()


def _raising(error: type[BaseException]) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("batches", [0, 1, 20])
def test_a_crash_of_the_encoder(batches: int, workspace: Workspace) -> None:
    with pytest.raises(Crash):
        workspace.index(NEW, encoder=CrashingEncoder(batches))
    _assert_as_before(workspace)
    workspace.index(NEW)
    _assert_complete(workspace)


def test_a_crash_of_the_source(workspace: Workspace) -> None:
    def source() -> Iterator[Record]:
        yield from NEW[:90]
        raise Crash

    with pytest.raises(Crash):
        workspace.index(source())
    _assert_as_before(workspace)
    workspace.index(NEW)
    _assert_complete(workspace)


def test_a_crash_after_publishing_is_no_loss(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patches:
        _patch(indexer.indexing.matching, "publish", done=True)(patches, 0)
        with pytest.raises(Crash):
            workspace.index(NEW)
    assert workspace.catalog.generation("c") == 2
    report = workspace.index(NEW)
    assert (report.documents, report.generation) == (0, 2)
    _assert_complete(workspace)


def test_whoever_searched_before_goes_on_with_what_there_was(workspace: Workspace) -> None:
    snapshot = workspace.store.snapshot("c")
    workspace.index(NEW)
    assert snapshot.generation.number == 1
    assert workspace.store.snapshot("c").generation.number == 2
    (view,) = snapshot.views
    assert view.segment.document_id(0) == "d0"
