"""A backup holds what was acknowledged before it began, whatever is written and merged meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from indexer.archives import pins
from indexer.archives.backup import back_up
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.errors import BackupFailed
from indexer.indexing.maintenance import optimize
from indexer.indexing.verification import verify_collection
from indexer.store import Store
from models.errors import InvalidInput
from tests.waiting import until
from tests.workspace import Workspace, document


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path / "data") as made:
        made.index([document("d0", "needle in some hay")])
        yield made


def restored(folder: Path) -> Store:
    return Store(folder, Catalog(f"sqlite:///{folder}/catalog.sqlite3"))


def ids_of(store: Store) -> set[str]:
    return {
        view.segment.document_id(row)
        for view in store.snapshot("c").views
        for row in view.live_documents.nonzero()[0].tolist()
    }


def damage(store: Store) -> list[str]:
    return [sentence for item in store.catalog.collections() for sentence in verify_collection(store, item)]


@pytest.mark.ci("writes while it is backed up")
def test_a_backup_under_writes_and_merges_has_all_that_was_acknowledged(workspace: Workspace, tmp_path: Path) -> None:
    stop, acknowledged = threading.Event(), {"d0"}

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            workspace.index([document(f"d{number}", f"needle{number} in other hay")])
            acknowledged.add(f"d{number}")
            with lease(workspace.catalog, "c") as held:
                optimize(workspace.store, held, lambda _: None)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(8):
            until(lambda number=number: len(acknowledged) > number)
            before = set(acknowledged)
            made = back_up(workspace.store, tmp_path / f"backup-{number}")
            store = restored(made.folder)
            with closing(store.catalog):
                assert before <= ids_of(store)
                assert damage(store) == []
    finally:
        stop.set()
        writer.join()
    assert len(acknowledged) >= 8
    assert list((workspace.store.data_dir / "backup-pins").iterdir()) == []


def test_segments_removed_after_the_catalog_was_copied_make_it_begin_again(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, calls = pins.copy_catalog, []

    def copy_then_merge(catalog: Catalog, path: Path, id: str | None) -> str:
        url = copy(catalog, path, id)
        if not calls:
            workspace.index([document("d1", "more hay")])
            with lease(workspace.catalog, "c") as held:
                optimize(workspace.store, held, lambda _: None)
            workspace.index([])  # sweeps what is retired
        calls.append(path)
        return url

    monkeypatch.setattr(pins, "copy_catalog", copy_then_merge)
    store = restored(back_up(workspace.store, tmp_path / "backup").folder)
    with closing(store.catalog):
        assert len(calls) == 2
        assert ids_of(store) == {"d0", "d1"}
        assert damage(store) == []


def test_a_store_without_a_segments_files_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (vectors,) = workspace.store.data_dir.rglob("vectors.i8")
    vectors.unlink()
    with pytest.raises(BackupFailed):
        back_up(workspace.store, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_only_a_new_or_empty_folder_is_written_to(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    back_up(workspace.store, tmp_path / "backup")
    with pytest.raises(InvalidInput):
        back_up(workspace.store, tmp_path / "backup")


def test_two_backups_to_one_folder_do_not_harm_each_other(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, copies = pins.copy_catalog, []

    def copy_beside_another(catalog: Catalog, path: Path, id: str | None) -> str:
        copies.append(path)
        if len(copies) == 1:
            back_up(workspace.store, tmp_path / "backup")
        return copy(catalog, path, id)

    monkeypatch.setattr(pins, "copy_catalog", copy_beside_another)
    with pytest.raises(InvalidInput, match="not an empty folder"):
        back_up(workspace.store, tmp_path / "backup")
    store = restored(tmp_path / "backup")
    with closing(store.catalog):
        assert ids_of(store) == {"d0"}
        assert damage(store) == []
    assert {path.name for path in tmp_path.iterdir()} == {"data", "backup"}


def test_a_backup_removes_no_folder_of_others(workspace: Workspace, tmp_path: Path) -> None:
    kept = tmp_path / "backup.part" / "letter"
    kept.parent.mkdir()
    kept.touch()
    back_up(workspace.store, tmp_path / "backup")
    assert kept.exists()


def test_a_backup_lies_outside_of_the_data_folder(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace.store.data_dir)
    for folder in (workspace.store.data_dir / "collections" / "backup", tmp_path / "link" / "backup"):
        with pytest.raises(InvalidInput, match="lies in the data folder"):
            back_up(workspace.store, folder)
        assert not folder.exists()


def test_a_copy_shares_no_bytes_with_the_store(workspace: Workspace, tmp_path: Path) -> None:
    made = back_up(workspace.store, tmp_path / "backup")
    for path in made.folder.rglob("*"):
        assert path.is_dir() or path.stat().st_nlink == 1


def test_verify_compares_the_catalog_with_the_segments(workspace: Workspace) -> None:
    workspace.index([document("d1", "more hay"), document("d2", "still more")])
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, ["d2"])
    assert damage(workspace.store) == []
    with workspace.catalog.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM documents WHERE document_id = 'd1'")
    (sentence,) = damage(workspace.store)
    assert "holds 1 documents that the catalog does not name, the first of them 'd1'" in sentence
    with workspace.catalog.database.write() as connection:
        connection.exec_driver_sql("UPDATE documents SET document_id = 'other' WHERE document_id = 'd0'")
    assert any("names 1 documents that it does not hold" in sentence for sentence in damage(workspace.store))
