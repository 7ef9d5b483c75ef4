"""What holds of a store after its process ended in the midst of an operation, and after the next jobs."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from app.collections.documents import DocumentService
from app.collections.jobs import CollectionJobs
from app.collections.service import CollectionService
from app.services import Services
from app.tasks.worker import TaskWorkers
from indexer.errors import CollectionNotFound
from tests.faults.operations import OPERATIONS
from tests.faults.places import Place, Seen, check, document, orphans, seen

Copy = Callable[[], Any]


def prepared(name: str) -> Callable[[Place], None]:
    """Prepares a store for an operation."""

    def prepare(place: Place) -> None:
        with place.services() as services:
            OPERATIONS[name].before(services)

    return prepare


def states(copy: Copy, name: str) -> tuple[Seen, ...]:
    """What is seen before an operation and after each of its steps, where nothing goes wrong."""
    found = []
    with copy() as place, place.services() as services:
        found.append(seen(services))
        OPERATIONS[name].run(services, lambda number: found.append(seen(services)))
    return tuple(found)


def assert_kept(services: Services, expected: tuple[Seen, ...], done: int, where: str) -> None:
    """All steps that were done are there, and of the next one all or nothing."""
    assert seen(services) in expected[done : done + 2], where


def assert_recovers(services: Services, name: str, expected: tuple[Seen, ...], where: str) -> None:
    """The operation can be done again, everything is there once, and nothing lies about."""
    OPERATIONS[name].run(services)
    next_job(services)
    check(services)
    left = orphans(services.store)
    assert not left, f"{where}: {left}"
    assert seen(services) == expected[-1], where


def next_job(services: Services) -> None:
    """Any job of a collection clears up what another left; the sweep of tasks is that of a server that starts."""
    with suppress(CollectionNotFound):
        services.get(DocumentService).upsert("c", [document(999)])
        services.get(DocumentService).delete("c", [document(999).id])
    for collection in services.store.catalog.collections():
        services.get(CollectionJobs).optimize(collection.name)
    services.get(CollectionService).create("another")
    services.get(CollectionService).delete("another")
    TaskWorkers.of(services).close()
