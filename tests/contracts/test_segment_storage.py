"""One suite for every place where segments lie: what is done to a collection there is what is done in a folder."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from app.collections.jobs import CollectionJobs
from app.collections.recipes import CollectionOptions
from app.collections.reindexing import Reindexing
from app.collections.service import CollectionService
from indexer.archives.backup import back_up
from indexer.archives.create import create_archive
from indexer.archives.restore import restore_archive
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.query import Filter
from indexer.errors import CollectionNotFound
from indexer.indexing.deletion import delete_collection, left_behind, sweep_deleted
from indexer.indexing.maintenance import optimize, purge
from indexer.indexing.pipeline import JobHooks
from indexer.indexing.relabelling import relabel
from indexer.indexing.verification import verify_store
from indexer.segments.local import LocalSegments
from indexer.segments.storage import Segments
from indexer.store import Store
from tests.buckets import bucket_segments, serving
from tests.workspace import Workspace, document

PHRASE = "cancel my plan"
PLACES = ["folder", "file", "s3"]


@pytest.fixture(scope="module")
def s3() -> Iterator[None]:
    with serving():
        yield


def segments_at(place: str, folder: Path, cache: str = "cache") -> Segments:
    """A new place, which lies in a folder as far as it does."""
    if place == "folder":
        return LocalSegments(folder / "collections")
    url = f"file://{folder}/bucket" if place == "file" else f"s3://bucket/{folder.name}"
    return bucket_segments(url, folder / cache)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def workspace(place: str, s3: None, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path, segments=segments_at(place, tmp_path)) as made:
        made.index([document("a", "Please cancel my plan."), document("b", "Where is my parcel?")], merge=False)
        made.index([document("c", "I want to cancel my plan.")], merge=False)
        yield made


def saying(workspace: Workspace, collection: str = "c") -> set[str]:
    return {id for id, _ in workspace.found(PHRASE, collection=collection)}


def elsewhere(workspace: Workspace, place: str, tmp_path: Path) -> Store:
    """A store of another machine: the same catalog and place, and nothing fetched yet."""
    segments = segments_at(place, tmp_path, cache="other")
    return Store(tmp_path / "elsewhere", Catalog(str(workspace.catalog.database.url)), segments=segments)


def test_what_one_writes_another_reads(workspace: Workspace, place: str, tmp_path: Path) -> None:
    with closing(elsewhere(workspace, place, tmp_path)) as other:
        for own, far in zip(workspace.store.snapshot("c").views, other.snapshot("c").views, strict=True):
            assert own.name == far.name
            np.testing.assert_array_equal(own.segment.vectors, far.segment.vectors)
            np.testing.assert_array_equal(own.segment.norm_codes, far.segment.norm_codes)
            assert own.segment.document_id(0) == far.segment.document_id(0)
    assert saying(workspace) == {"a", "c"}


def test_merging_leaves_the_new_segment_alone(workspace: Workspace) -> None:
    before = workspace.live()
    with lease(workspace.catalog, "c") as held:
        optimize(workspace.store, held, lambda _: None)
        assert workspace.store.segments.names(held.collection_id) == workspace.live()
    assert saying(workspace) == {"a", "c"}
    assert workspace.live().isdisjoint(before)


def test_a_purge_leaves_nothing_of_deleted_documents(workspace: Workspace) -> None:
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, ["a", "c"])
        purge(workspace.store, held, lambda _: None)
        assert workspace.store.segments.names(held.collection_id) == workspace.live()
    assert saying(workspace) == set()
    assert workspace.found("Where is my parcel") == {("b", "Where is my parcel")}


def test_relabelled_documents_keep_their_vectors(workspace: Workspace) -> None:
    with lease(workspace.catalog, "c") as held:
        relabel(workspace.store, held, workspace.store.present("c"), {"a": {"kind": "call"}})
    assert {
        hit.document_id for hit in workspace.search(PHRASE, filter=Filter(document={"kind": "call"}), top_k=100)
    } == {"a"}
    assert saying(workspace) == {"a", "c"}


def test_a_deleted_collection_leaves_nothing(workspace: Workspace) -> None:
    id = workspace.catalog.collection("c").id
    with lease(workspace.catalog, "c") as held:
        delete_collection(workspace.store, held)
    assert workspace.store.segments.names(id) == frozenset()
    assert workspace.store.segments.collections.ids() == []
    assert workspace.store.segments.collections.marked() == []
    with pytest.raises(CollectionNotFound):
        workspace.search(PHRASE)


def test_a_deletion_that_a_crash_interrupts_is_finished_by_the_next_job(workspace: Workspace) -> None:
    collections, id = workspace.store.segments.collections, workspace.catalog.collection("c").id
    collections.mark(id)
    sweep_deleted(workspace.store)
    assert saying(workspace) == {"a", "c"}, "the catalog has it"
    assert left_behind(workspace.store) == []
    with closing(Workspace(workspace.store.data_dir / "new", segments=workspace.store.segments).catalog) as catalog:
        other = Store(workspace.store.data_dir, catalog, segments=workspace.store.segments)
        assert left_behind(other) == [id]
        sweep_deleted(other)
        assert left_behind(other) == collections.marked() == []


def test_a_mark_that_a_crash_leaves_on_a_collection_is_removed_by_its_next_job(workspace: Workspace) -> None:
    """Of a deletion before it has removed the rows, and of a restoring behind its commit."""
    collections, id = workspace.store.segments.collections, workspace.catalog.collection("c").id
    collections.mark(id)
    workspace.catalog.create_collection("another", workspace.catalog.collection("c").recipe)
    with lease(workspace.catalog, "another") as held:
        optimize(workspace.store, held, lambda _: None)
    assert collections.marked() == [id], "its own lease may be held by one who deletes it"
    with lease(workspace.catalog, "c") as held:
        optimize(workspace.store, held, lambda _: None)
    assert collections.marked() == []
    assert saying(workspace) == {"a", "c"}


def test_an_unpublished_segment_is_removed_by_the_next_job(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    segments, id = workspace.store.segments, workspace.catalog.collection("c").id
    with monkeypatch.context() as patched:
        patched.setattr("indexer.indexing.pipeline.publish_matched", killed)
        with pytest.raises(KeyboardInterrupt):
            workspace.index([document("d", "Lost at the last moment.")])
    assert len(segments.names(id)) == 3
    workspace.index([document("e", "The next one.")], merge=False)
    assert segments.names(id) == workspace.live()
    assert workspace.found("Lost at the last moment") == set()


def test_a_snapshot_is_restored(workspace: Workspace, place: str, tmp_path: Path) -> None:
    path = tmp_path / "c.tar"
    create_archive(workspace.store, "c", path)
    restored = restore_archive(workspace.store, path, "again")
    assert saying(workspace, "again") == saying(workspace) == {"a", "c"}
    assert workspace.store.segments.collections.marked() == []
    assert len(workspace.store.segments.names(restored.id)) == 2
    with closing(elsewhere(workspace, place, tmp_path)) as other:
        assert len(other.snapshot("again").views) == 2


def test_a_backup_works_as_a_data_folder(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("copied") / "backup"
    back_up(workspace.store, folder)
    with closing(Catalog(f"sqlite:///{folder}/catalog.sqlite3")) as catalog:
        store = Store(folder, catalog)
        assert verify_store(store).damages == ()
        assert len(store.snapshot("c").views) == 2


def test_reindexed_segments_change_hands(workspace: Workspace) -> None:
    store, encoders = workspace.store, workspace.encoders
    collections = CollectionService(store, encoders, default_encoder="hashing")
    jobs = CollectionJobs(store, encoders, segment_units=500_000)
    options = CollectionOptions(shortest=1, longest=12)
    job = Reindexing(store, encoders, collections, jobs, workspace.service.modes, "c", options)
    assert job.run(job.documents(), JobHooks()) is not None
    id = workspace.catalog.collection("c").id
    assert workspace.catalog.collection("c").recipe.bounds.longest == 12
    assert saying(workspace) == {"a", "c"}
    with lease(workspace.catalog, "c") as held:
        purge(store, held, lambda _: None)
    assert store.segments.names(id) == workspace.live()
    assert store.segments.collections.ids() == [id]


def test_verification_finds_no_damage_where_there_is_none(workspace: Workspace) -> None:
    verified = verify_store(workspace.store)
    assert (verified.segments, verified.damages) == (2, ())
