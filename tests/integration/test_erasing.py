"""That all deleted text is erased is said when it is proved; else what remains is named, and a later job erases it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.maintenance import erased_text
from app.collections.jobs import CollectionJobs
from indexer.archives import create
from indexer.archives.backup import PINS as BACKUP_PINS
from indexer.archives.create import create_archive
from indexer.catalog import erasing
from indexer.catalog.database import Database
from indexer.catalog.erasing import erase_deleted, finish_erasing
from indexer.catalog.leases import lease
from indexer.indexing.pipeline import JobHooks
from indexer.phrases import PhraseDraft
from indexer.process_folders import process_folder
from tests.integration.test_maintenance import everything_on_disk
from tests.integration.test_reindexing import NEW, Upgraded
from tests.workspace import Workspace, document

CANARIES = [b"canary-id", b"canary-text", b"canary-metadata"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A collection with a saved phrase, whose matches keep ids and texts in the catalog."""
    monkeypatch.setattr(erasing.time, "sleep", lambda seconds: None)
    with Workspace(tmp_path / "data") as made:
        made.index([document("other", "Nothing to see here.")])
        made.phrases.add("c", PhraseDraft("parcel", "parcel", threshold=0.1, threshold_on="raw"))
        secret = [document(f"canary-id-{n}", f"The canary-text parcel {n} never came.") for n in range(50)]
        made.index([*secret, document("canary-id", "canary-text", secret="canary-metadata")])
        assert made.phrases.events("c", 1).events
        yield made


@pytest.fixture
def jobs(workspace: Workspace) -> CollectionJobs:
    return Upgraded(workspace).jobs


def ids() -> list[str]:
    return ["canary-id", *(f"canary-id-{n}" for n in range(50))]


def remaining(workspace: Workspace) -> list[bytes]:
    """The canaries that lie anywhere in the data folder."""
    found = everything_on_disk(workspace)
    return [word for word in CANARIES if word in found]


@pytest.fixture
def reader(workspace: Workspace) -> Iterator[sqlite3.Connection]:
    """Somebody who reads the catalog as it is now, for long."""
    path = workspace.store.data_dir / "catalog.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM matches").fetchall()
        yield connection


def test_what_was_purged_is_nowhere(workspace: Workspace, jobs: CollectionJobs) -> None:
    assert remaining(workspace) == CANARIES
    deletion = jobs.delete("c", ids(), purged=True)
    assert deletion.purged is not None
    assert deletion.purged.remains == ()
    assert erased_text(deletion.purged.remains) == "All deleted text is erased from the disk."
    assert remaining(workspace) == []


def test_what_a_reader_keeps_is_named_and_erased_by_the_next_job(
    workspace: Workspace, jobs: CollectionJobs, reader: sqlite3.Connection
) -> None:
    deletion = jobs.delete("c", ids(), purged=True)
    assert deletion.purged is not None
    (left,) = deletion.purged.remains
    assert "catalog.sqlite3 and its log keep deleted rows until" in left
    assert "All deleted text is erased" not in erased_text(deletion.purged.remains)
    assert remaining(workspace)
    assert not finish_erasing(workspace.catalog.database), "the reader is still there"
    reader.execute("COMMIT")
    workspace.index([document("next", "Some other words.")])
    assert remaining(workspace) == []
    assert {path.name for path in workspace.store.data_dir.glob("catalog*")} == {
        "catalog.sqlite3",
        "catalog.sqlite3-wal",
        "catalog.sqlite3-shm",
    }


def test_nobody_waits_for_the_reader(
    workspace: Workspace, jobs: CollectionJobs, reader: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, waits = workspace.store.data_dir / "catalog.sqlite3", []

    def write_at_once(seconds: float) -> None:
        waits.append(seconds)
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")

    monkeypatch.setattr(erasing.time, "sleep", write_at_once)
    deletion = jobs.delete("c", ids(), purged=True)
    assert deletion.purged is not None
    assert deletion.purged.remains
    assert len(waits) > 1
    assert sum(waits) < 3


def test_a_server_finishes_what_a_job_had_to_leave(
    workspace: Workspace, jobs: CollectionJobs, reader: sqlite3.Connection
) -> None:
    jobs.delete("c", ids(), purged=True)
    reader.execute("COMMIT")
    with closing(Database(str(workspace.catalog.database.url))) as server:
        assert finish_erasing(server)
    assert remaining(workspace) == []
    assert finish_erasing(workspace.catalog.database), "nothing is left to do"


def test_a_request_that_is_renewed_meanwhile_stays(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    database, rewrite = workspace.catalog.database, Database.rewrite

    def rewrite_as_another_asks(self: Database) -> None:
        rewrite(self)
        if not asked:
            asked.append(True)
            erasing._ask(workspace.store.data_dir / "catalog.sqlite3")

    asked: list[bool] = []
    monkeypatch.setattr(Database, "rewrite", rewrite_as_another_asks)
    assert erase_deleted(database) is None
    request = workspace.store.data_dir / "catalog.sqlite3-erasing"
    assert request.exists()
    assert finish_erasing(database)
    assert not request.exists()


def test_a_full_disk_leaves_the_erasing_to_a_later_job(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Database) -> None:
        raise erasing.StorageFull("full", hint="Free some space.")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "rewrite", full)
        assert erase_deleted(workspace.catalog.database)
    assert finish_erasing(workspace.catalog.database)


def test_copies_in_the_making_are_named(workspace: Workspace, jobs: CollectionJobs) -> None:
    data = workspace.store.data_dir
    with process_folder(data / BACKUP_PINS) as backup, process_folder(data / create.PINS) as snapshot:
        remains = jobs.purge("c").remains
        assert [part in each for part, each in zip((backup.name, snapshot.name), remains, strict=True)] == [True] * 2
        (snapshot / "collection").write_text("another")
        assert len(jobs.purge("c").remains) == 1
    assert jobs.purge("c").remains == ()


def test_a_killed_copy_is_removed(workspace: Workspace, jobs: CollectionJobs) -> None:
    parent = workspace.store.data_dir / BACKUP_PINS
    with process_folder(parent) as folder:
        name = folder.name
    (parent / name).mkdir()
    (parent / name / "alive").touch()
    (parent / name / "text").write_bytes(CANARIES[1])
    jobs.delete("c", ids(), purged=True)
    assert remaining(workspace) == []


def test_snapshots_from_before_are_named(workspace: Workspace, jobs: CollectionJobs) -> None:
    path = workspace.store.data_dir / "snapshots" / "c" / "18eb3f0000000000deadbeef.tar"
    create_archive(workspace.store, "c", path)
    assert jobs.purge("c").remains == (), "it is of this generation"
    deletion = jobs.delete("c", ids(), purged=True)
    assert deletion.purged is not None
    (left,) = deletion.purged.remains
    assert path.name in left
    path.unlink()
    assert jobs.purge("c").remains == ()
    assert remaining(workspace) == []


def test_what_a_reindexing_has_built_is_purged_too(workspace: Workspace) -> None:
    upgraded = Upgraded(workspace)
    job = upgraded.job()
    stopping = iter([False] * 3 + [True] * 100).__next__
    assert job.run(job.documents(), JobHooks(stop=stopping)) is None
    built = workspace.catalog.collection(job.target)
    assert built.documents > 0
    with lease(workspace.catalog, built.name):
        deletion = upgraded.jobs.delete("c", ids(), purged=True)
        assert deletion.purged is not None
        assert [built.name in each for each in deletion.purged.remains] == [True]
    assert upgraded.jobs.purge("c").remains == ()
    assert remaining(workspace) == []
    reindexed = upgraded.reindex()
    assert reindexed is not None
    assert (reindexed.documents, reindexed.fingerprint) == (1, NEW.fingerprint)


def test_texts_that_a_collection_gives_up_are_erased_or_named(workspace: Workspace, reader: sqlite3.Connection) -> None:
    upgraded = Upgraded(workspace)
    reindexed = upgraded.reindex(store_text=False)
    assert reindexed is not None
    (left,) = reindexed.remains
    assert "catalog.sqlite3" in left
    reader.execute("COMMIT")
    assert finish_erasing(workspace.catalog.database)
    assert remaining(workspace) == [b"canary-id", b"canary-metadata"]


def test_of_postgresql_it_says_what_it_cannot_prove() -> None:
    pytest.importorskip("psycopg")
    with closing(Database("postgresql://spanseek@/spanseek")) as database:
        left = erase_deleted(database)
        assert left is not None
        assert "until PostgreSQL overwrites them" in left
        assert finish_erasing(database), "nothing that a later job could do"
