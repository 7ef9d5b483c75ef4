"""Copies that may hold the deleted documents of a collection: snapshots, copies in the making, and files of tasks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from indexer.archives.archive import read_info
from indexer.archives.backup import PINS as BACKUP_PINS
from indexer.archives.create import PINS as SNAPSHOT_PINS
from indexer.archives.create import collection_of
from indexer.catalog.tasks import Task, list_tasks
from indexer.errors import SnapshotInvalid
from indexer.process_folders import in_use, sweep
from indexer.store import Store
from indexer.types import Collection

SNAPSHOTS: Final = "snapshots"
_UNENDED: Final = ("queued", "running")
_MOST_TASKS: Final = 10_000


def older_copies(store: Store, collection: Collection) -> Iterator[str]:
    """Sentences on what may hold documents that this generation does not have, and until when."""
    for parent, kind in ((BACKUP_PINS, "backup"), (SNAPSHOT_PINS, "snapshot")):
        folder = store.data_dir / parent
        sweep(folder)
        for made in in_use(folder):
            if kind == "backup" or collection_of(made) in (collection.id, None):
                yield f"a {kind} in the making ({parent}/{made.name}) may hold them, until the {kind} is deleted"
    older = [path.name for path in _snapshots(store, collection.name) if _is_older(path, collection.generation)]
    if older:
        yield f"snapshots from before ({', '.join(older)}) may hold them until they are deleted"
    mined = [task.id for task in _tasks(store, collection, "mine") if _is_mined_before(task, collection.generation)]
    if mined:
        yield f"tables of minings from before ({', '.join(mined)}) may hold them for SPANSEEK_TASK_DAYS after their end"
    uploads = [task.id for task in _tasks(store, collection, "upload") if task.status in _UNENDED]
    if uploads:
        yield f"uploads under way ({', '.join(uploads)}) may hold them until they end"


def _tasks(store: Store, collection: Collection, kind: str) -> Iterator[Task]:
    found = list_tasks(store.catalog, _MOST_TASKS, kinds=[kind])
    return (task for task in found if task.target_id == collection.id)


def _is_mined_before(task: Task, generation: int) -> bool:
    """True if a mining may have tables of an earlier generation."""
    return task.status in _UNENDED or (task.result is not None and task.result["generation"] < generation)


def _snapshots(store: Store, name: str) -> list[Path]:
    return sorted((store.data_dir / SNAPSHOTS / name).glob("*.tar*"))


def _is_older(path: Path, generation: int) -> bool:
    try:
        return read_info(path).generation < generation
    except FileNotFoundError:
        return False
    except SnapshotInvalid:  # it is being written
        return True
