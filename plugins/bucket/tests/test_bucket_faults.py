"""A bucket that fails: nothing is lost, nothing wrong is answered, errors say what to do, and it heals by itself."""

import shutil
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from indexer.archives.create import create_archive
from indexer.archives.restore import restore_archive
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.errors import CollectionNotFound, SegmentCorrupt, SegmentsUnavailable
from indexer.indexing.deletion import delete_collection
from indexer.indexing.maintenance import optimize, purge
from indexer.indexing.verification import verify_store
from indexer.segments.manifest import describe
from indexer.store import Store
from spanseek_bucket import segments
from tests.buckets import (
    Answer,
    Fault,
    FaultyServer,
    Request,
    broken,
    bucket_segments,
    cut,
    flipped,
    missing,
    of,
    quick_server,
)
from tests.workspace import Workspace, document

PHRASE = "cancel my plan"


@pytest.fixture(scope="module")
def s3() -> Iterator[FaultyServer]:
    with quick_server() as server:
        yield server


@pytest.fixture
def workspace(s3: FaultyServer, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path, segments=bucket_segments(url_of(tmp_path), tmp_path / "cache")) as made:
        made.index([document("a", "Please cancel my plan.")], merge=False)
        made.index([document("b", "I want to cancel my plan.")], merge=False)
        yield made


@pytest.fixture
def other(workspace: Workspace, tmp_path: Path) -> Iterator[Store]:
    """The store of another machine, which has fetched nothing."""
    catalog = Catalog(str(workspace.catalog.database.url))
    far = bucket_segments(url_of(tmp_path), tmp_path / "far")
    with closing(Store(tmp_path / "elsewhere", catalog, segments=far, clock=count().__next__)) as store:
        yield store


def url_of(folder: Path) -> str:
    return f"s3://bucket/{folder.name}"


def deletions_broken(request: Request) -> Answer | None:
    return broken(request) if request.method == "POST" else None


def ids(store: Store) -> set[str]:
    snapshot = store.snapshot("c")
    return {
        view.segment.document_id(row) for view in snapshot.views for row in view.live_documents.nonzero()[0].tolist()
    }


def test_what_cannot_be_uploaded_is_not_published(workspace: Workspace, s3: FaultyServer) -> None:
    id, before = workspace.catalog.collection("c").id, workspace.catalog.generation("c")
    for fault in (of("PUT", broken), of("PUT", broken, "manifest.json"), of("PUT", broken, "documents.arrow")):
        with s3.failing(fault), pytest.raises(SegmentsUnavailable) as caught:
            workspace.index([document("c", "Nothing of it is seen.")], merge=False)
        assert "SPANSEEK_SEGMENTS_URL" in caught.value.hint
    assert workspace.catalog.generation("c") == before
    assert len(workspace.store.segments.names(id)) > 2, "what was uploaded in part"
    workspace.index([document("c", "Now it is seen.")], merge=False)
    assert workspace.store.segments.names(id) == workspace.live()
    assert ids(workspace.store) == {"a", "b", "c"}


@pytest.mark.parametrize("fault", [broken, cut])
def test_a_machine_that_cannot_fetch_says_so_until_it_can(
    workspace: Workspace, other: Store, s3: FaultyServer, fault: Fault
) -> None:
    with s3.failing(of("GET", fault, "vectors.i8")):
        for _ in range(2):
            with pytest.raises(SegmentsUnavailable):
                other.snapshot("c")
        assert workspace.found(PHRASE) == {("a", PHRASE), ("b", PHRASE)}, "this one needs no bucket"
    assert ids(other) == {"a", "b"}
    assert other.damages() == ()


@pytest.mark.parametrize("fault", [broken, cut, flipped])
def test_a_failure_that_passes_is_not_seen(workspace: Workspace, other: Store, s3: FaultyServer, fault: Fault) -> None:
    with s3.failing(of("GET", fault, "text.zst", times=1)):
        assert ids(other) == {"a", "b"}
    assert verify_store(other).damages == ()


@pytest.mark.parametrize("fault", [missing, flipped])
@pytest.mark.parametrize("file", ["manifest.json", "vectors.i8", "documents.arrow"])
def test_a_damaged_object_is_left_out_and_looked_for_again(
    workspace: Workspace, other: Store, s3: FaultyServer, monkeypatch: pytest.MonkeyPatch, fault: Fault, file: str
) -> None:
    first, second = (live.info.name for live in workspace.catalog.live_generation("c").segments)
    with s3.failing(of("GET", fault, f"{second}/{file}")):
        assert other.snapshot("c").names == (first,)
        (damage,) = other.damages()
        assert second in damage
        assert file in damage
        before = len(s3.requests)
        assert other.snapshot("c").names == (first,)
        assert len(s3.requests) == before, "it is not fetched with every search"
        (found,) = verify_store(other, "c").damages
        assert file in found
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + segments.AGAIN_S, sleep=time.sleep)
    monkeypatch.setattr("indexer.segments.opened.time", later)
    assert ids(other) == {"a", "b"}
    assert other.damages() == ()


def test_a_collection_of_which_nothing_is_left_is_not_empty(
    workspace: Workspace, other: Store, s3: FaultyServer
) -> None:
    with s3.failing(of("GET", missing, "vectors.i8")), pytest.raises(SegmentCorrupt):
        other.snapshot("c")


def test_merges_and_purges_do_without_damaged_objects(workspace: Workspace, other: Store, s3: FaultyServer) -> None:
    fault = of("GET", flipped, "vectors.i8")
    with s3.failing(fault), lease(other.catalog, "c") as held, pytest.raises(SegmentCorrupt):
        optimize(other, held, lambda _: None)
    assert ids(workspace.store) == {"a", "b"}


def test_a_cache_that_is_removed_as_a_whole_is_made_anew(workspace: Workspace, tmp_path: Path) -> None:
    far = bucket_segments(url_of(tmp_path), tmp_path / "far")
    collection = workspace.catalog.collection("c")
    (first, second) = (live.info for live in workspace.catalog.live_generation("c").segments)
    assert far.open(collection.id, first).manifest.documents == 1
    shutil.rmtree(tmp_path / "far")
    assert far.open(collection.id, second).manifest.documents == 1
    assert (tmp_path / "far" / "collections" / collection.id / second.name).is_dir()


def test_a_cached_copy_that_rots_is_fetched_again(workspace: Workspace, other: Store) -> None:
    id, live = workspace.catalog.collection("c").id, workspace.catalog.live_generation("c").segments[0]
    for file in ("documents.arrow", "vectors.i8"):
        path = other.segments.root / id / live.info.name / file
        ids(other)
        right, content = describe(path), bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.unlink()
        path.write_bytes(content)
        with other.segments.held(id, live.info, verified=True) as folder:
            assert describe(folder / file) == right
        assert ids(other) == {"a", "b"}
        path.unlink()
        assert ids(other) == {"a", "b"}, "as one that somebody removed"
    assert other.damages() == ()


def test_a_generation_that_is_removed_while_it_is_fetched_gives_way_to_the_next(
    workspace: Workspace, other: Store, s3: FaultyServer
) -> None:
    merged = Event()

    def merging(request: Request) -> None:
        if not merged.is_set():
            merged.set()
            with lease(workspace.catalog, "c") as held:
                remove(workspace.catalog, held, ["a"])
                optimize(workspace.store, held, lambda _: None)

    with s3.failing(of("GET", merging, "manifest.json")):
        assert ids(other) == {"b"}
    other.refresh()
    assert other.damages() == ()
    assert other.snapshot("c").names == tuple(workspace.live())


def test_a_segment_is_fetched_once_and_nobody_else_waits(workspace: Workspace, other: Store, s3: FaultyServer) -> None:
    """A slow bucket: those who ask for the collection wait for one fetch, those who ask for another do not."""
    workspace.index([document("d", "Another collection.")], name="quick")
    slow, begun, go = workspace.catalog.collection("c").id, Event(), Event()

    def waiting(request: Request) -> None:
        if slow in request.path:
            begun.set()
            go.wait(60)

    found: list[set[str]] = []
    asking = [Thread(target=lambda: found.append(ids(other))) for _ in range(4)]
    s3.requests.clear()
    with s3.failing(of("GET", waiting)):
        for thread in asking:
            thread.start()
        assert begun.wait(60)
        assert len(other.snapshot("quick").views) == 1
        go.set()
        for thread in asking:
            thread.join()
    assert found == [{"a", "b"}] * 4
    fetched = [path for method, path in s3.requests if method == "GET" and slow in path]
    assert len(fetched) == len(set(fetched))


def test_a_purge_that_cannot_reach_the_bucket_says_so(workspace: Workspace, s3: FaultyServer) -> None:
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, ["a"])
        with s3.failing(deletions_broken), pytest.raises(SegmentsUnavailable):
            purge(workspace.store, held, lambda _: None)
        purged = purge(workspace.store, held, lambda _: None)
        assert workspace.store.segments.names(held.collection_id) == workspace.live()
    assert "SPANSEEK_SEGMENTS_CACHE" in purged.remains[-1]


def test_a_deletion_without_the_bucket_is_finished_later(workspace: Workspace, s3: FaultyServer) -> None:
    store, id = workspace.store, workspace.catalog.collection("c").id
    with s3.failing(broken), lease(workspace.catalog, "c") as held, pytest.raises(SegmentsUnavailable):
        delete_collection(store, held)
    assert ids(store) == {"a", "b"}, "it could not be marked"
    with s3.failing(deletions_broken), lease(workspace.catalog, "c") as held:
        delete_collection(store, held)
    with pytest.raises(CollectionNotFound):
        store.snapshot("c")
    assert store.segments.names(id)
    workspace.index([document("n", "The next job.")], name="next")
    assert store.segments.names(id) == frozenset()


def test_a_restore_that_cannot_upload_leaves_nothing(workspace: Workspace, s3: FaultyServer, tmp_path: Path) -> None:
    path, collections = tmp_path / "c.tar", workspace.store.segments.collections
    create_archive(workspace.store, "c", path)
    before = collections.ids()
    with s3.failing(of("PUT", broken, "vectors.i8")), pytest.raises(SegmentsUnavailable):
        restore_archive(workspace.store, path, "again")
    with suppress(CollectionNotFound):
        workspace.catalog.collection("again")
        pytest.fail("it is half there")
    restore_archive(workspace.store, path, "whole")  # sweeps first
    assert collections.marked() == []
    assert set(collections.ids()) == {*before, workspace.catalog.collection("whole").id}


def test_a_bucket_that_is_gone_is_no_damage(tmp_path: Path) -> None:
    with Workspace(tmp_path, segments=bucket_segments(f"file://{tmp_path}/mount", tmp_path / "cache")) as workspace:
        workspace.index([document("a", "Please cancel my plan.")])
        (tmp_path / "mount").rename(tmp_path / "unmounted")
        far = bucket_segments(f"file://{tmp_path}/mount", tmp_path / "far")
        with closing(Store(tmp_path, Catalog(str(workspace.catalog.database.url)), segments=far)) as other:
            with pytest.raises(SegmentsUnavailable):
                other.snapshot("c")
            assert other.damages() == ()
