"""A full disk: a small file system that really is full, at every point of a job."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import text

import indexer.indexing.maintenance
import indexer.nuggets.files
from indexer.catalog import read_only
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.errors import StorageFull
from indexer.indexing.maintenance import merge_segments
from indexer.indexing.merge_policy import everything
from models.errors import SpanseekError
from tests.small_disk import filled, small_disk
from tests.waiting import PATIENCE_S
from tests.workspace import Workspace, document

OLD = [document(f"old{number}", f"an old text, number {number}") for number in range(5)]
NEW = [document(f"new{number}", f"needle{number} " + f"some hay {number} " * 60) for number in range(60)]
_DISK = 6 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", _DISK) as folder:
        yield folder


def small_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small segments get FAISS files, too."""
    monkeypatch.setattr(indexer.nuggets.files, "WORTH_INDEX", 100)
    monkeypatch.setattr(indexer.indexing.maintenance, "WORTH_WINDOWS", 100)


@pytest.mark.ci("fills a small disk")
def test_a_job_that_fails_anywhere_leaves_nothing_and_the_next_one_recovers(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk has room for ever more of a segment: of each file, and of the catalog."""
    small_indexes(monkeypatch)
    with Workspace(disk / "data", nugget_ratio=0.25) as workspace:
        workspace.index(OLD)
        before, failures = workspace.live(), set()
        for free in range(0, _DISK, 128 << 10):
            failure = _failure(disk, free, partial(workspace.index, NEW))
            if failure is None:
                break
            failures.add(failure)
            assert workspace.live() == workspace.folders() == before
            assert workspace.found("old") == {(each.id, "old") for each in OLD}
        assert len(failures) == 2, "the files of the segment, and the catalog"
        workspace.index(NEW)
        assert workspace.catalog.collection("c").documents == len(OLD) + len(NEW)
        assert workspace.folders() == workspace.live()


@pytest.mark.ci("fills a small disk")
def test_a_merge_that_fails_changes_nothing(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_indexes(monkeypatch)
    with Workspace(disk / "data", nugget_ratio=0.25) as workspace:
        workspace.index(OLD)
        workspace.index(NEW)
        workspace.store.candidates_from = 100
        before, failures = workspace.live(), 0
        assert len(before) == 2
        while _failure(disk, failures * 256 << 10, partial(_merge, workspace)) is not None:
            assert workspace.live() == workspace.folders() == before
            failures += 1
        assert failures > 2
        assert len(workspace.live()) == 1


def test_documents_are_published_though_the_merge_that_follows_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Workspace(tmp_path) as workspace:
        monkeypatch.setattr(indexer.indexing.maintenance, "merge_segments", _no_room)
        assert workspace.index(OLD).documents == len(OLD)
        assert "no room" in caplog.text
        assert workspace.found("old") == {(each.id, "old") for each in OLD}


def _merge(workspace: Workspace) -> None:
    with lease(workspace.catalog, "c") as held:
        merge_segments(workspace.store, held, everything)


def _no_room(*_: object, **__: object) -> int:
    raise StorageFull("There is no room.")


def _failure(disk: Path, free: int, job: Callable[[], object]) -> str | None:
    """What the job could not write with so many bytes free; None if nothing."""
    try:
        with filled(disk, free):
            job()
    except StorageFull as error:
        return str(error).partition(":")[0]
    return None


def test_the_catalog_alone(disk: Path, migrated_sqlite: Path) -> None:
    shutil.copy(migrated_sqlite, disk / "c.db")
    with closing(Catalog(f"sqlite:///{disk}/c.db")) as catalog:
        catalog.collections()
        with filled(disk):
            with pytest.raises(StorageFull, match=r"c\.db.*full"):
                insert_much(catalog)
            assert catalog.collections() == ()
        insert_much(catalog)


def test_a_catalog_that_was_closed_is_read_without_a_byte_free(disk: Path, migrated_sqlite: Path) -> None:
    """Its first connection finds no room for the files of a database in use, and waits for none afterwards."""
    shutil.copy(migrated_sqlite, disk / "c.db")
    with filled(disk), closing(Catalog(f"sqlite:///{disk}/c.db")) as catalog:
        assert catalog.collections() == ()
        with pytest.raises(StorageFull, match=r"no room to write the catalog"):
            insert_much(catalog)
        assert catalog.collections() == ()
        (disk / "ballast").write_bytes(b"")
        insert_much(catalog)
    with closing(Catalog(f"sqlite:///{disk}/c.db")) as catalog:
        assert catalog.collections() == ()


def test_a_disk_without_room_is_told_by_its_blocks_and_inodes(
    migrated_sqlite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def statvfs(free: int, inodes: int) -> Callable[[Path], SimpleNamespace]:
        disk = SimpleNamespace(f_bfree=free, f_bavail=free, f_frsize=4096, f_files=inodes and 100, f_ffree=inodes - 1)
        return lambda _: disk

    for free, inodes, is_full in ((0, 9, True), (9_999, 1, True), (9_999, 9, False), (9_999, 0, False)):
        monkeypatch.setattr(read_only.os, "statvfs", statvfs(free, inodes))
        assert read_only.is_full(migrated_sqlite) == is_full


def insert_much(catalog: Catalog) -> None:
    with catalog.database.write() as connection:
        connection.execute(
            text(
                "INSERT INTO keys (id, name, secret_hash, scopes, created_at) "
                "VALUES ('k', :name, 'h', '[]', '2024-01-01')"
            ),
            {"name": "n" * 500_000},
        )


@pytest.mark.parametrize("code", ["53100", "57P03"])
def test_postgresql_says_that_its_disk_is_full(code: str, migrated_postgres: str) -> None:
    raising = text(f"DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '{code}'; END $$")
    with (
        closing(Catalog(migrated_postgres)) as catalog,
        pytest.raises(SpanseekError) as caught,
        catalog.database.write() as connection,
    ):
        connection.execute(raising)
    assert caught.value.code == ("storage_full" if code == "53100" else "catalog_unavailable")


@pytest.fixture
def limited(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``limited(size, *arguments)`` runs a command that may not write files larger than ``size``."""

    def run(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from app.cli import main; main()", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            cwd=tmp_path,
            env=os.environ | {"SPANSEEK_ENCODER": "hashing"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)),
        )

    return run


@pytest.mark.ci("fills a small disk")
@pytest.mark.parametrize("size", [1 << 18, 1 << 19])
def test_a_command_ends_with_a_sentence(limited, tmp_path: Path, size: int) -> None:
    """At the smaller limit it is SQLite that cannot write, at the larger one the segment."""
    source = tmp_path / "texts.txt"
    source.write_text("\n".join(f"needle{number} " + "hay " * 60 for number in range(700)))
    index = ("index", "--collection", "c", "--source", str(source))
    failed = limited(size, *index)
    assert failed.returncode == 1
    assert "There is no room to write" in failed.stderr
    assert "Free some space" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not [*(tmp_path / "data").glob("collections/*/*")]
    assert limited(resource.RLIM_INFINITY, *index).returncode == 0
