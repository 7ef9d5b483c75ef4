"""Collections as use cases: created once, deleted with everything, and a crash leaves nothing for good."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.service import encode, finish, scan
from app.search.verification.ordering import Ordered
from indexer.catalog.keys import create_key, list_keys
from indexer.catalog.leases import lease
from indexer.catalog.tables import metadata
from indexer.errors import CollectionBusy, CollectionNotFound, RecipeMismatch
from indexer.phrases import PhraseDraft
from models.encoders.registry import EncoderOptions
from models.errors import InvalidInput
from tests.workspace import Workspace, document


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path) as made:
        made.index([document("a", "where is my parcel"), document("b", "cancel my plan")])
        yield made


@pytest.fixture
def service(workspace: Workspace, tmp_path: Path) -> CollectionService:
    encoders = Encoders(EncoderOptions(whitenings=tmp_path / "whitenings"))
    return CollectionService(workspace.store, encoders, default_encoder="hashing")


def rows(workspace: Workspace) -> dict[str, int]:
    """The number of rows of every table that has any."""
    with workspace.store.catalog.database.read() as connection:
        counts = {
            table.name: connection.scalar(select(func.count()).select_from(table)) for table in metadata.sorted_tables
        }
    return {name: count for name, count in counts.items() if count}


def test_creating_again_changes_nothing(service: CollectionService) -> None:
    first = service.create("new", CollectionOptions(longest=5))
    again = service.create("new")
    assert (first.is_new, again.is_new) == (True, False)
    assert first.collection == again.collection
    with pytest.raises(RecipeMismatch):
        service.create("new", CollectionOptions(longest=6))
    with pytest.raises(InvalidInput, match="Spans cannot have 5 to 3 units"):
        service.create("other", CollectionOptions(shortest=5, longest=3))


def test_deleting_leaves_no_row_and_no_file(workspace: Workspace, service: CollectionService) -> None:
    store = workspace.store
    key = create_key(store.catalog, "of c", ["search"], ["c"])[0]
    workspace.phrases.add("c", PhraseDraft("plan", "my plan", threshold=0.9), backfill=True)
    workspace.thresholds.set("c", "best_span", 0.8, "score", "")
    workspace.index([document("a", "where is my other parcel")])  # leaves a tombstone
    assert {"documents", "segments", "tombstones", "phrases", "matches", "thresholds"} <= rows(workspace).keys()
    folder = store.folder(store.catalog.collection("c"))
    assert service.delete("c").status == "deleted"
    assert set(rows(workspace)) <= {"keys", "alembic_version"}
    assert not folder.exists()
    assert [each.id for each in list_keys(store.catalog)] == [key.id]
    with pytest.raises(CollectionNotFound):
        workspace.service.search(SearchRequest("c", text="my plan"))


def test_a_search_under_way_finishes(workspace: Workspace, service: CollectionService) -> None:
    search = workspace.service
    prepared = search.prepare(SearchRequest("c", text="cancel my plan"))
    service.delete("c")
    (encoded,) = encode([prepared])
    (found,) = scan([encoded])
    assert finish(encoded, Ordered(found)).hits[0].text == "cancel my plan"
    workspace.store.refresh()


def test_another_writer_keeps_the_collection(workspace: Workspace, service: CollectionService) -> None:
    with lease(workspace.store.catalog, "c"), pytest.raises(CollectionBusy):
        service.delete("c")
    assert workspace.service.search(SearchRequest("c", text="my plan"))[0].hits


def test_files_that_a_crash_leaves_are_removed_later(
    workspace: Workspace, service: CollectionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace.store.folder(workspace.store.catalog.collection("c"))
    with monkeypatch.context() as crash:
        crash.setattr(workspace.store.segments.collections, "erase", lambda id: None)
        service.delete("c")
    assert list(folder.iterdir())
    service.create("another")
    assert not folder.exists()


def test_a_marked_folder_of_a_collection_that_is_there_stays(workspace: Workspace, service: CollectionService) -> None:
    """A crash before the commit leaves the marker, and the collection."""
    folder = workspace.store.folder(workspace.store.catalog.collection("c"))
    (folder / "DELETED").touch()
    unmarked = folder.with_name("0" * 32)
    shutil.copytree(folder, unmarked, ignore=lambda *_: ["DELETED"])
    service.create("another")
    assert workspace.service.search(SearchRequest("c", text="my plan"))[0].hits
    assert unmarked.exists()  # unknown to this catalog, but never deleted: perhaps the database is the wrong one
    service.delete("c")
    assert not folder.exists()


def test_whitenings_of_deleted_collections_are_removed(service: CollectionService, tmp_path: Path) -> None:
    options = CollectionOptions(nugget_ratio=0.5, texts=["one two three", "one four five"])
    folder = tmp_path / "whitenings"
    for name in ("first", "second"):
        service.create(name, options)
    assert len(list(folder.iterdir())) == 1
    service.delete("first")
    assert len(list(folder.iterdir())) == 1
    service.delete("second")
    assert list(folder.iterdir()) == []
