"""Open segments hold no descriptors; where there are none left, that is said, and nothing counts as damaged."""

import resource
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock

import pytest

from app.main import raise_descriptor_limit
from indexer.errors import ResourcesExhausted
from indexer.freshness import FreshValues
from indexer.segments import opened
from indexer.segments.reader import Segment
from indexer.store import Store
from models.mapping import mapped_bytes
from tests.waiting import PATIENCE_S, until
from tests.workspace import ALL_REPRESENTATIONS, Workspace, document


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Three collections, each of two segments that store whatever a segment can."""
    with Workspace(tmp_path, words=True, representations=ALL_REPRESENTATIONS) as made:
        for name in ("a", "b", "c"):
            for number in range(2):
                made.index([document(f"d{number}", f"needle{number} in hay")], name=name)
        made.catalog.collections()
        yield made


def reopened(workspace: Workspace, **options: int) -> Store:
    return Store(workspace.store.data_dir, workspace.catalog, **options)


def open_below(folder: Path) -> list[str]:
    """The files below a folder that this process has open."""
    names = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            names.append(str(each.readlink()))
    return [name for name in names if name.startswith(str(folder))]


@contextmanager
def no_descriptors() -> Iterator[None]:
    """No further file can be opened."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_open_segments_hold_no_descriptors(workspace: Workspace) -> None:
    store = reopened(workspace)
    snapshots = [store.snapshot(name) for name in ("a", "b", "c")]
    assert [len(snapshot.views) for snapshot in snapshots] == [2, 2, 2]
    until(lambda: open_below(store.data_dir / "collections") == [])  # they are verified in the background


def test_a_search_without_descriptors_is_refused_and_nothing_is_damaged(workspace: Workspace) -> None:
    store = reopened(workspace)
    with no_descriptors(), pytest.raises(ResourcesExhausted) as caught:
        store.snapshot("a")
    assert "ulimit -n" in caught.value.hint
    assert store.damages() == ()
    assert store.snapshot("a").damaged == ()


def test_a_segment_is_verified_once_there_are_descriptors_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = reopened(workspace).snapshot("a").views[0].segment
    tried: list[bool] = []
    done, one_at_a_time = Event(), Lock()

    def verify(segment: Segment) -> None:
        with one_at_a_time:  # the verifier of this process may be at work, too
            tried.append(True)
            if len(tried) == 1:
                with no_descriptors():
                    opened.verify_files(segment.folder, segment.manifest, large=False)
            done.set()

    monkeypatch.setattr(opened, "verify", verify)
    monkeypatch.setattr(opened, "RETRY_S", 0.0)
    opened._Verifier().submit(segment)
    assert done.wait(PATIENCE_S)
    assert len(tried) >= 2


def test_open_segments_are_searched_without_descriptors(workspace: Workspace) -> None:
    workspace.search("needle1", "a", context=20, explain=True)
    with no_descriptors():
        assert {hit.document_id for hit in workspace.search("needle1", "a", top_k=2)} == {"d0", "d1"}


def test_the_collections_used_least_recently_are_closed(workspace: Workspace) -> None:
    store = reopened(workspace, open_segments=4)
    segments = {name: weakref.ref(store.snapshot(name).views[0].segment) for name in ("a", "b")}
    store.snapshot("a")
    segments["c"] = weakref.ref(store.snapshot("c").views[0].segment)
    assert [segments[name]() is not None for name in ("a", "b", "c")] == [True, False, True]
    assert len(store.snapshot("b").views) == 2, "it opens again"


def test_a_collection_of_more_segments_than_may_stay_open_is_searched(workspace: Workspace) -> None:
    store = reopened(workspace, open_segments=1)
    assert len(store.snapshot("a").views) == 2
    assert store.snapshot("a") is store.snapshot("a")


def test_values_beyond_the_limit_are_forgotten_in_the_order_of_their_use() -> None:
    reads: list[str] = []

    def read(key: str, before: str | None) -> str:
        reads.append(key)
        return key

    values: FreshValues[str, str] = FreshValues(read, clock=lambda: 0.0, weight=len, limit=5)
    for key in ("aa", "bb", "aa", "cc"):
        values.get(key)
    assert values.cached() == ("aa", "cc")
    values.get("aaaaaaaaa")
    assert values.cached() == ("aaaaaaaaa",)
    assert reads == ["aa", "bb", "cc", "aaaaaaaaa"]


def test_mapped_bytes_outlive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 40)
    content = mapped_bytes(path)
    part = content[256:].view("<u4").reshape(-1, 8)
    del content
    path.unlink()
    assert part.tobytes() == bytes(range(256)) * 39
    assert not part.flags.writeable
    (tmp_path / "empty").touch()
    assert mapped_bytes(tmp_path / "empty").size == 0
    with pytest.raises(FileNotFoundError):
        mapped_bytes(path)


def test_a_mapping_ends_with_its_last_array(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"bytes")

    def is_mapped() -> bool:
        return str(path) in Path("/proc/self/maps").read_text()

    content = mapped_bytes(path)
    view = content[1:3]
    del content
    assert is_mapped()
    del view
    assert not is_mapped()


def test_the_limit_is_raised_and_said(caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        with caplog.at_level("INFO"):
            raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        assert f"{hard} files may be open" in caplog.text
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
