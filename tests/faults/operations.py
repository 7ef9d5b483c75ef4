"""The operations that are interrupted: each is steps that are done or not, and can be run again from its beginning."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import pytest

from app.collections.exporting import document_line
from app.collections.recipes import CollectionOptions
from app.composition import Services
from app.tasks.worker import TaskWorkers
from app.webhooks.sending import Sender
from app.webhooks.worker import WebhookWorkers
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
    return lambda services: services.documents.upsert("c", documents(first, last, version))


def _delete(*numbers: int) -> Step:
    return lambda services: services.documents.delete("c", [document(number).id for number in numbers])


def _patch(number: int, value: Any) -> Step:
    return lambda services: services.documents.change("c", document(number).id, {"seen": value})


def _purge(services: Services) -> None:
    services.jobs.delete("c", [document(number).id for number in range(5)], purged=True)


def _deleted(services: Services) -> None:
    services.documents.delete("c", [document(number).id for number in range(14, 19)])


def _reindex(services: Services) -> None:
    job = services.reindexing("c", CollectionOptions(longest=5))
    job.run(job.documents(), JobHooks())


def _restore(services: Services) -> None:
    with suppress(CollectionExists):
        services.snapshots.restore(services.snapshots.path("c", SNAPSHOT), "copy")


def _snapshot(services: Services) -> None:
    made = services.snapshots.create("c", id="b" * 24)
    assert services.snapshots.get("c", "b" * 24) == made


def _receive(services: Services) -> None:
    """Accept an upload as a route does, unless one was."""
    if services.tasks.list(statuses=["queued", "running", "done"]).tasks:
        return
    upload = services.tasks.upload("c", "ndjson")
    try:
        upload.begin()
        upload.write(b"".join(map(document_line, documents(20, 40, 2))))
        upload.finish()
    except BaseException:
        upload.abandon()
        raise


def run_tasks(services: Services) -> None:
    """Run all tasks to their end, in this thread."""
    workers = TaskWorkers(services, services.tasks, threads=0, keep_days=1)
    while services.tasks.list(statuses=["queued", "running"]).tasks:
        if workers.turn():
            time.sleep(0.05)


def _backfill(services: Services) -> None:
    services.jobs.backfill("c", ["well"])


def _save_phrase(services: Services) -> None:
    services.phrases.add("c", PhraseDraft("well", "all is well", threshold=0.9, threshold_on="raw"))


def _delete_collection(services: Services) -> None:
    with suppress(CollectionNotFound):
        services.collections.delete("c")


def _deliver(services: Services) -> None:
    """Send all that webhooks have to send, in this thread."""
    sender = Sender(services._address_rules, timeout_s=5)
    workers = WebhookWorkers(
        services.store.catalog, services._signing_key, sender, threads=0, timeout_s=5, given_up=timedelta(hours=1)
    )
    while workers.turn():
        pass


OPERATIONS: Mapping[str, Operation] = {
    "ingestion": Operation((_upsert(20, 30, 1), _upsert(0, 8, 3), _upsert(30, 50, 0))),
    "delete": Operation((_delete(1, 2, 3), _delete(20))),
    "patch": Operation((_patch(4, True), _patch(15, "yes"))),
    "merge": Operation((lambda services: services.jobs.optimize("c"),), before=_deleted),
    "purge": Operation((_purge,)),
    "backfill": Operation((_backfill,), before=_save_phrase),
    "reindex": Operation((_reindex,)),
    "snapshot": Operation((_snapshot,)),
    "restore": Operation((_restore,)),
    "upload": Operation((_receive, run_tasks)),
    "drop": Operation((_delete_collection,)),
}
# Its receiver says what of it was done.
DELIVERY: Final = "delivery"
ALL: Final = {**OPERATIONS, DELIVERY: Operation((_deliver,))}


def chosen(*short: str) -> list[Any]:
    """The names of all operations; all but a few are slow."""
    return [
        name if name in short else pytest.param(name, marks=pytest.mark.slow("every operation")) for name in OPERATIONS
    ]
