"""Snapshots: made under writes and merges, restored in any catalog with everything that belongs to the collection."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.collections.snapshots import SnapshotService
from indexer.archives import pins
from indexer.archives.archive import check_archive
from indexer.archives.create import PINS, create_archive
from indexer.archives.restore import RESTORING, restore_archive
from indexer.catalog.aliases import list_aliases, set_aliases
from indexer.catalog.calibrations import add_calibration, list_calibrations
from indexer.catalog.collections import Catalog
from indexer.catalog.copying import copy_catalog
from indexer.catalog.keys import any_keys, create_key
from indexer.catalog.leases import lease
from indexer.catalog.matches import read_events
from indexer.catalog.phrases import list_phrases
from indexer.catalog.publish import remove
from indexer.catalog.schema import downgrade
from indexer.catalog.thresholds import read_tuning, set_threshold, threshold_history
from indexer.errors import BackupFailed, CollectionExists, CollectionNotFound, SnapshotInvalid, SnapshotNotFound
from indexer.indexing.deletion import delete_collection, left_behind
from indexer.indexing.maintenance import optimize, purge
from indexer.indexing.verification import verify_collection
from indexer.phrases import PhraseDraft
from indexer.reading.stored_documents import StoredDocuments
from indexer.segments.local import LocalCollections
from indexer.store import Store
from indexer.tuning import CalibrationDraft
from models.types import Document, Part
from tests.faults.places import ROUNDS
from tests.waiting import until
from tests.workspace import Workspace, document

SECRET = "zyzzyva"
WORDS = [
    "parcel",
    "plan",
    "cancel",
    "late",
    "refund",
    "invoice",
    "line",
    "number",
    "where",
    "please",
    "never",
    "arrived",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path / "data", nugget_ratio=0.5, words=True) as made:
        made.index([Document("a", (Part("Where is my parcel?", {"speaker": "me"}), Part("Gone. 😀")), {"year": 2024})])
        made.index([document("b", "Please cancel my plan."), document("gone", SECRET)])
        with lease(made.catalog, "c") as held:
            remove(made.catalog, held, ["gone"])
        yield made


@pytest.fixture
def target(url: str, tmp_path: Path) -> Iterator[Store]:
    """An empty store, on either database."""
    (tmp_path / "target").mkdir()
    with closing(Catalog(url)) as catalog:
        yield Store(tmp_path / "target", catalog)


def found(store: Store, name: str) -> dict[str, tuple[str, ...]]:
    """The live documents and their texts."""
    stored = StoredDocuments(store.snapshot(name))
    return {document.id: tuple(part.text for part in document.parts) for document in stored}


def tuned(workspace: Workspace) -> None:
    """Give the collection everything that a collection can have."""
    catalog, recipe = workspace.catalog, workspace.catalog.collection("c").recipe
    draft = CalibrationDraft("best_span", recipe.fingerprint, recipe.bounds, ((0, 0), (0.9, 0.5), (1, 1)), "x", 20)
    add_calibration(catalog, "c", draft, activate=True)
    set_threshold(catalog, "c", "best_span", 0.6)
    set_threshold(catalog, "c", "maxsim", 0.7, on="raw")
    workspace.phrases.add("c", PhraseDraft("plan", "cancel my plan", threshold=0.8), backfill=True)
    set_aliases(catalog, {"other": "c"})
    create_key(catalog, "key", ["search"], collections=["c"])


def test_everything_of_a_collection_is_restored_in_any_catalog(
    workspace: Workspace, target: Store, tmp_path: Path
) -> None:
    tuned(workspace)
    path = tmp_path / "c.tar"
    info = create_archive(workspace.store, "other", path)
    assert (info.collection, info.documents) == ("c", 2)
    restored = restore_archive(target, path)
    assert (restored.name, restored.documents, restored.recipe) == ("c", 2, workspace.catalog.collection("c").recipe)
    assert found(target, "c") == found(workspace.store, "c")
    assert verify_collection(target, restored) == []
    mine, theirs = list_calibrations(workspace.catalog, "c"), list_calibrations(target.catalog, "c")
    assert [replace(one, id="") for one in theirs] == [replace(one, id="") for one in mine]
    assert theirs[0].id != mine[0].id
    for mode in ("best_span", "maxsim"):
        changes = [threshold_history(catalog, "c", mode) for catalog in (workspace.catalog, target.catalog)]
        before, after = (change.after for (change,) in changes)
        assert before is not None
        assert after is not None
        assert (before.value, before.on, before.raw) == (after.value, after.on, after.raw)
    assert read_tuning(target.catalog, "c", "best_span").calibration_id == theirs[0].id
    assert [phrase.name for phrase in list_phrases(target.catalog, "c", 10)] == ["plan"]
    (event,) = read_events(target.catalog, restored.id, None, 10).events
    assert (event.document_id, event.text) == ("b", "cancel my plan")
    assert not any_keys(target.catalog)
    assert list_aliases(target.catalog) == ()
    again = tmp_path / "again.tar"
    create_archive(target, "c", again)
    back = restore_archive(workspace.store, again, "back")
    assert found(workspace.store, "back") == found(workspace.store, "c")
    assert verify_collection(workspace.store, back) == []
    assert workspace.search("cancel my plan", "back")[:1] == workspace.search("cancel my plan", "c")[:1]


def test_two_snapshots_of_one_name_are_both_whole(workspace: Workspace, tmp_path: Path) -> None:
    path, nested = tmp_path / "c.tar", []

    def beside_another(done: int, total: int) -> None:
        if not nested:
            nested.append(done)
            create_archive(workspace.store, "c", path)

    create_archive(workspace.store, "c", path, beside_another)
    assert check_archive(path, lambda done, total: None).documents == 2
    assert {each.name for each in tmp_path.iterdir()} == {"data", "c.tar"}


def test_a_task_that_runs_again_removes_what_its_killed_run_left(workspace: Workspace) -> None:
    service, folder = SnapshotService(workspace.store), workspace.store.data_dir / "snapshots" / "c"
    folder.mkdir(parents=True)
    (folder / f"{'0' * 24}.tar.partial-12345678").touch()
    service.create("c", id="0" * 24)
    assert [path.name for path in folder.iterdir()] == [f"{'0' * 24}.tar"]


def test_a_restored_collection_can_be_written_to(workspace: Workspace, tmp_path: Path) -> None:
    create_archive(workspace.store, "c", tmp_path / "c.tar")
    restore_archive(workspace.store, tmp_path / "c.tar", "twin")
    workspace.index([document("a", "Another text."), document("new", "A kettle.")], name="twin")
    assert set(found(workspace.store, "twin")) == {"a", "b", "new"}
    with lease(workspace.catalog, "twin") as held:
        optimize(workspace.store, held, lambda seconds: None)
    assert found(workspace.store, "c")["a"] == ("Where is my parcel?", "Gone. 😀")
    assert verify_collection(workspace.store, workspace.catalog.collection("twin")) == []


def test_names_that_are_taken_are_refused(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "c.tar"
    create_archive(workspace.store, "c", path)
    set_aliases(workspace.catalog, {"alias": "c"})
    for name in (None, "c", "alias"):
        with pytest.raises(CollectionExists):
            restore_archive(workspace.store, path, name)
    assert [each.name for each in workspace.catalog.collections()] == ["c"]
    assert list((workspace.store.data_dir / RESTORING).iterdir()) == []
    assert len(list((workspace.store.data_dir / "collections").iterdir())) == 1


def test_nothing_of_a_damaged_snapshot_is_restored(workspace: Workspace, target: Store, tmp_path: Path) -> None:
    path = tmp_path / "c.tar"
    create_archive(workspace.store, "c", path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(SnapshotInvalid, match=r"c\.tar"):
        restore_archive(target, path)
    assert target.catalog.collections() == ()
    assert not list((target.data_dir / "collections").glob("*"))
    assert list((target.data_dir / RESTORING).iterdir()) == []


def test_a_failure_at_the_end_restores_nothing(
    workspace: Workspace, target: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_archive(workspace.store, "c", tmp_path / "c.tar")

    def fail(collections: LocalCollections, segments: Path, final: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("indexer.segments.local.LocalCollections._move", fail)
        with pytest.raises(KeyboardInterrupt):
            restore_archive(target, tmp_path / "c.tar")
    assert target.catalog.collections() == ()
    assert restore_archive(target, tmp_path / "c.tar").documents == 2


def test_snapshots_of_earlier_tables_are_upgraded_and_later_ones_refused(
    workspace: Workspace, target: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_archive(workspace.store, "c", tmp_path / "c.tar")

    def with_version(change: Callable[[str], object]) -> Callable[..., str]:
        def copied(*arguments: Any) -> str:
            url = copy_catalog(*arguments)
            change(url)
            return url

        return copied

    def later(url: str) -> None:
        with closing(Catalog(url)) as catalog, catalog.database.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    for change, name in ((lambda url: downgrade(url, "0009"), "early"), (later, "late")):
        with monkeypatch.context() as patched:
            patched.setattr(pins, "copy_catalog", with_version(change))
            create_archive(workspace.store, "c", tmp_path / f"{name}.tar")
    assert restore_archive(target, tmp_path / "early.tar").documents == 2
    with pytest.raises(SnapshotInvalid, match="a later version"):
        restore_archive(target, tmp_path / "late.tar", "late")


def test_a_deleted_text_is_nowhere_in_the_rows(workspace: Workspace, tmp_path: Path) -> None:
    """That of a segment is erased by a purge, as on the disk of the collection."""
    with lease(workspace.catalog, "c") as held:
        purge(workspace.store, held, lambda seconds: None)
    create_archive(workspace.store, "c", tmp_path / "c.tar")
    assert SECRET.encode() not in (tmp_path / "c.tar").read_bytes()


@pytest.mark.ci("large snapshots")
def test_a_snapshot_under_writes_and_merges_has_one_generation(workspace: Workspace, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            workspace.index([document(f"w{number}", f"the number {number}"), document("b", f"Version {number}.")])
            if number % 5 == 0:
                with lease(workspace.catalog, "c") as held:
                    optimize(workspace.store, held, lambda seconds: None)

    writer = threading.Thread(target=write)
    writer.start()
    infos: list[Any] = []
    try:
        for number in range(8):
            before = infos[-1].generation if infos else 0
            until(lambda before=before: workspace.catalog.generation("c") > before)
            infos.append(create_archive(workspace.store, "c", tmp_path / f"{number}.tar"))
    finally:
        stop.set()
        writer.join()
    assert len({info.generation for info in infos}) == 8
    for number, info in enumerate(infos):
        check_archive(tmp_path / f"{number}.tar", lambda done, total: None)
        restored = restore_archive(workspace.store, tmp_path / f"{number}.tar", f"r{number}")
        assert (restored.documents, restored.generation) == (info.documents, info.generation)
        assert verify_collection(workspace.store, restored) == []
        documents = found(workspace.store, f"r{number}")
        written = [int(id[1:]) for id in documents if id.startswith("w")]
        assert sorted(written) == list(range(1, len(written) + 1))
        for query in ("the number 1", "Version 1.", "parcel"):
            hits = workspace.search(query, f"r{number}", top_k=100)
            assert {hit.document_id for hit in hits} <= set(documents)


@pytest.mark.ci("large snapshots")
def test_a_snapshot_under_writes_answers_as_an_index_of_its_documents(workspace: Workspace, tmp_path: Path) -> None:
    """Queries elsewhere, a thousand of them in the long form: the same hits with the same scores, to the last bit."""
    choose = random.Random(7)
    texts = [" ".join(choose.choices(WORDS, k=12)) for _ in range(600)]
    workspace.index([document(f"d{number}", text) for number, text in enumerate(texts[:300])])
    started, stop = threading.Event(), threading.Event()

    def write() -> None:
        for number, line in enumerate(texts[300:]):
            if stop.is_set():
                return
            workspace.index([document(f"d{choose.randrange(300)}", line), document(f"new{number}", line)])
            started.set()

    writer = threading.Thread(target=write)
    writer.start()
    started.wait()
    try:
        create_archive(workspace.store, "c", tmp_path / "c.tar")
    finally:
        stop.set()
        writer.join()
    with Workspace(tmp_path / "elsewhere", nugget_ratio=0.5, words=True) as elsewhere:
        restore_archive(elsewhere.store, tmp_path / "c.tar")
        elsewhere.index(list(StoredDocuments(elsewhere.store.snapshot("c"))), name="anew")
        for _ in range(1_000 if ROUNDS else 200):
            query = " ".join(choose.choices(WORDS, k=choose.randint(1, 6)))
            restored, anew = (hits_of(elsewhere, query, name) for name in ("c", "anew"))
            assert restored == anew


def hits_of(workspace: Workspace, query: str, name: str) -> list[tuple[str, int, int, float]]:
    hits = workspace.search(query, name, top_k=10)
    return [(hit.document_id, hit.start, hit.end, hit.score) for hit in hits]


def test_segments_that_keep_disappearing_end_the_snapshot(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*arguments: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(pins, "pin", gone)
    with pytest.raises(BackupFailed):
        create_archive(workspace.store, "c", tmp_path / "c.tar")
    assert not (tmp_path / "c.tar").exists()
    assert list((workspace.store.data_dir / PINS).iterdir()) == []


def test_snapshots_outlive_their_collection(workspace: Workspace) -> None:
    service = SnapshotService(workspace.store)
    first, second = service.create("c"), service.create("c")
    (workspace.store.data_dir / "snapshots" / "c" / "broken.tar").write_bytes(b"no")
    assert service.list("c").snapshots == (second, first)
    with lease(workspace.catalog, "c") as held:
        delete_collection(workspace.store, held)
    assert [each.id for each in service.list("c").snapshots] == [second.id, first.id]
    assert service.restore(service.path("c", first.id)).documents == 2
    service.delete("c", first.id)
    for id in (first.id, "broken", "../../c", "0" * 24, ""):
        with pytest.raises(SnapshotNotFound):
            service.path("c", id)
    with pytest.raises(CollectionNotFound):
        service.list("nobody")


class Killed(BaseException):
    """What a killed process does: no handler of errors runs after it."""


def test_a_restore_that_is_killed_after_the_move_is_swept(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.tar"
    create_archive(workspace.store, "c", path)
    store, move = workspace.store, LocalCollections._move

    def killed(collections: LocalCollections, segments: Path, final: Path) -> None:
        move(collections, segments, final)
        assert left_behind(store) == [], "it is being restored"
        raise Killed

    monkeypatch.setattr(LocalCollections, "_move", killed)
    with pytest.raises(Killed):
        restore_archive(store, path, "half")
    (half,) = left_behind(store)
    monkeypatch.undo()
    workspace.index([document("d", "The next job.")])
    assert not store.folder_of(half).exists()
    assert left_behind(store) == []
    restored = restore_archive(store, path, "whole")
    assert {file.is_dir() for file in store.folder_of(restored.id).iterdir()} == {True}, "no marker"
