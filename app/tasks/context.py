"""The context of a running task: the services, its options and files, its progress, and whether it is to stop."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.services import Services
from app.tasks.spool import Spool
from indexer.catalog.claims import Claim, record_progress
from indexer.patience import Patience
from models.types import JsonValue

# Seconds for which a task waits for another writer of its collection before it gives its worker back.
_BUSY_S: Final = 2.0


class TaskStopped(Exception):
    """The task was cancelled, or the server stops. Workers catch it."""


@dataclass(frozen=True)
class TaskContext:
    """One run of a task. ``collection`` is the collection's own name."""

    services: Services
    claim: Claim
    spool: Spool
    collection: str
    cancelled: threading.Event
    closing: threading.Event

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that the task was queued with."""
        return self.claim.options

    @property
    def checkpoint(self) -> Mapping[str, Any]:
        """The checkpoint of an interrupted run; empty at the first."""
        return self.claim.task.checkpoint

    def stop(self) -> bool:
        """True if the task is to end at once."""
        return self.cancelled.is_set() or self.closing.is_set()

    def check(self) -> None:
        """Raise ``TaskStopped`` if the task is to end, and ``CollectionNotFound`` if its collection was deleted.

        Another collection may have the name by then.
        """
        self.check_stop()
        if self.claim.task.target_id:
            self.services.store.catalog.by_id(self.claim.task.target_id)

    def patience(self) -> Patience:
        """The patience with another process that writes: a moment, unless the task is to end."""
        return Patience(_BUSY_S, stop=self.stop)

    def check_stop(self) -> None:
        """Raise ``TaskStopped`` if the task is to end: cheap enough for every step of a long loop."""
        if self.stop():
            raise TaskStopped

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than the server runs."""
        self.closing.wait(seconds)

    def progress(self, done: int, total: int | None, checkpoint: Mapping[str, JsonValue] | None = None) -> None:
        """Record how far the task is, and where it goes on if it is interrupted. Raises ``ClaimLost``."""
        catalog = self.services.store.catalog
        record_progress(catalog, self.claim, done, total, self.checkpoint if checkpoint is None else checkpoint)
