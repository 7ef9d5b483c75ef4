"""The operations that are interrupted: each is steps that are done or not, and can be run again from its beginning."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from app.collections.documents import DocumentService
from app.collections.exporting import document_line
from app.collections.jobs import CollectionJobs
from app.collections.recipes import CollectionOptions
from app.collections.reindexing import Reindexing
from app.collections.service import CollectionService
from app.collections.snapshots import SnapshotService
from app.phrases.service import PhraseService
from app.services import Services
from app.tasks.service import TaskService
from app.tasks.worker import TaskWorkers
from indexer.errors import CollectionExists, CollectionNotFound
from indexer.indexing.pipeline import JobHooks
from indexer.phrases import PhraseDraft
from tests.faults.places import document, documents

Step = Callable[[Services], object]
SNAPSHOT = "a" * 24


@dataclass(frozen=True)
class Operation:
    """Steps in their order; what a step promises when it returns holds from then on. ``before`` prepares the store."""

    steps: tuple[Step, ...]
    before: Step = lambda services: None

    def run(self, services: Services, done: Callable[[int], object] = lambda number: None) -> None:
        """Do all steps, and tell the number of those that are done after each."""
        for number, step in enumerate(self.steps, 1):
            step(services)
            done(number)


def _upsert(first: int, last: int, version: int) -> Step:
    return lambda services: services.get(DocumentService).upsert("c", documents(first, last, version))


def _delete(*numbers: int) -> Step:
    return lambda services: services.get(DocumentService).delete("c", [document(number).id for number in numbers])


def _patch(number: int, value: Any) -> Step:
    return lambda services: services.get(DocumentService).change("c", document(number).id, {"seen": value})


def _purge(services: Services) -> None:
    services.get(CollectionJobs).delete("c", [document(number).id for number in range(5)], purged=True)


def _deleted(services: Services) -> None:
    services.get(DocumentService).delete("c", [document(number).id for number in range(14, 19)])


def _reindex(services: Services) -> None:
    job = Reindexing.of(services, "c", CollectionOptions(longest=5))
    job.run(job.documents(), JobHooks())


def _restore(services: Services) -> None:
    with suppress(CollectionExists):
        services.get(SnapshotService).restore(services.get(SnapshotService).path("c", SNAPSHOT), "copy")


def _snapshot(services: Services) -> None:
    made = services.get(SnapshotService).create("c", id="b" * 24)
    assert services.get(SnapshotService).get("c", "b" * 24) == made


def _receive(services: Services) -> None:
    """Accept an upload as a route does, unless one was."""
    if services.get(TaskService).list(statuses=["queued", "running", "done"]).tasks:
        return
    upload = services.get(TaskService).upload("c", "ndjson")
    try:
        upload.begin()
        upload.write(b"".join(map(document_line, documents(20, 40, 2))))
        upload.finish()
    except BaseException:
        upload.abandon()
        raise


def run_tasks(services: Services) -> None:
    """Run all tasks to their end, in this thread."""
    workers = TaskWorkers(services, services.get(TaskService), threads=0, keep_days=1)
    while services.get(TaskService).list(statuses=["queued", "running"]).tasks:
        if workers.turn():
            time.sleep(0.05)


def _backfill(services: Services) -> None:
    services.get(CollectionJobs).backfill("c", ["well"])


def _save_phrase(services: Services) -> None:
    services.get(PhraseService).add("c", PhraseDraft("well", "all is well", threshold=0.9, threshold_on="raw"))


def _delete_collection(services: Services) -> None:
    with suppress(CollectionNotFound):
        services.get(CollectionService).delete("c")


OPERATIONS: Mapping[str, Operation] = {
    "ingestion": Operation((_upsert(20, 30, 1), _upsert(0, 8, 3), _upsert(30, 50, 0))),
    "delete": Operation((_delete(1, 2, 3), _delete(20))),
    "patch": Operation((_patch(4, True), _patch(15, "yes"))),
    "merge": Operation((lambda services: services.get(CollectionJobs).optimize("c"),), before=_deleted),
    "purge": Operation((_purge,)),
    "backfill": Operation((_backfill,), before=_save_phrase),
    "reindex": Operation((_reindex,)),
    "snapshot": Operation((_snapshot,)),
    "restore": Operation((_restore,)),
    "upload": Operation((_receive, run_tasks)),
    "drop": Operation((_delete_collection,)),
}


def chosen(*short: str) -> list[Any]:
    """The names of all operations; all but a few are slow."""
    return [
        name if name in short else pytest.param(name, marks=pytest.mark.slow("every operation")) for name in OPERATIONS
    ]
