"""Workers: threads of low priority that run tasks, one of each collection at a time, until the server stops."""

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

from app.tasks.context import TaskContext, TaskStopped
from app.tasks.kinds import KINDS
from app.tasks.service import TaskService, spool_root
from app.tasks.services import TaskServices
from app.tasks.spool import Spool
from indexer.catalog.tasks import (
    Backlog,
    Claim,
    ClaimLost,
    Ended,
    backlog,
    claim_task,
    finish_task,
    forget_ended,
    release_task,
    renew_claim,
)
from indexer.errors import CatalogUnavailable, CollectionBusy, CollectionNotFound, LeaseLost, StorageFull
from indexer.heartbeat import beating
from models.errors import BackboneMismatch, BackboneMissing, DeviceUnavailable, SpanseekError, UnknownEncoder
from models.priority import lower_priority

# Seconds between two looks at the catalog, between two renewals of a claim, and until a failed try is repeated.
_POLL_S: Final = 1.0
_BEAT_S: Final = 1.0
_RETRY_S: Final = 5.0
_SWEEP_S: Final = 600.0
# Seconds for which a stopping server waits for its tasks; what has not ended then is resumed by the next server.
_CLOSE_S: Final = 10.0
# What a promised task waits for instead of failing: others, or the operator.
_PASSING: Final = (
    CatalogUnavailable,
    CollectionBusy,
    LeaseLost,
    StorageFull,
    BackboneMissing,
    BackboneMismatch,
    DeviceUnavailable,
    UnknownEncoder,
)

_log = logging.getLogger(__name__)


class TaskWorkers:
    """Runs the tasks of one store. ``backlog`` has those that have not ended, as of the last look."""

    def __init__(
        self,
        services: TaskServices,
        tasks: TaskService,
        *,
        threads: int,
        keep_days: float,
    ) -> None:
        self._services, self._tasks = services, tasks
        self._keep = timedelta(days=keep_days)
        self._closing, self._wake = threading.Event(), threading.Event()
        self.backlog: Mapping[str, Backlog] = {}
        tasks.queued = self._wake.set
        self._threads = [
            threading.Thread(target=self._run, args=(number,), name=f"task-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop the running tasks where they can be resumed, and the workers."""
        self._closing.set()
        self._wake.set()
        for thread in self._threads:
            thread.join(_CLOSE_S)

    def _run(self, number: int) -> None:
        lower_priority()
        pause, since_sweep, complained = 0.0, _SWEEP_S, False
        while not self._closing.is_set():
            try:
                if number == 0:
                    self.backlog = backlog(self._services.store.catalog)
                    if since_sweep >= _SWEEP_S:
                        self._sweep()
                        since_sweep = 0.0
                pause, complained = self.turn(), False
            except SpanseekError as error:
                _log.log(logging.DEBUG if complained else logging.WARNING, "tasks wait: %s %s", error, error.hint)
                pause, complained = _RETRY_S, True
            except Exception:  # noqa: BLE001  the other tasks go on
                _log.exception("unforeseen error of the tasks")
                pause = _RETRY_S
            since_sweep += pause
            if pause:
                self._wake.wait(pause)
                self._wake.clear()

    def turn(self) -> float:
        """Run one task; returns the seconds until the next look."""
        claim = claim_task(self._services.store.catalog)
        if claim is None:
            return _POLL_S
        try:
            return self._serve(claim)
        except ClaimLost:
            _log.warning("task %s was taken over by another worker", claim.task.id)
            return 0.0

    def _serve(self, claim: Claim) -> float:
        cancelled = threading.Event()
        if claim.task.cancelled:
            cancelled.set()
        _log.info("task %s: %s begins", claim.task.id, claim.task.kind)
        with beating(partial(self._beat, claim, cancelled), every=_BEAT_S):
            try:
                result = self._work(claim, cancelled)
                self._end(claim, "done", result=result)
            except TaskStopped:
                self._stopped(claim, cancelled)
            except _PASSING as error:
                if cancelled.is_set():
                    self._stopped(claim, cancelled)
                else:
                    _log.warning("task %s waits: %s %s", claim.task.id, error, error.hint)
                    release_task(self._services.store.catalog, claim, _failure(error))
                    return _RETRY_S
            except SpanseekError as error:
                self._end(claim, "failed", error=_failure(error))
            except ClaimLost:
                raise
            except Exception:  # noqa: BLE001  the task fails, and the others go on
                _log.exception("task %s failed in an unforeseen way", claim.task.id)
                self._end(claim, "failed", error=_UNFORESEEN)
        return 0.0

    def _end(self, claim: Claim, status: Ended, **outcome: Mapping[str, object]) -> None:
        finish_task(self._services.store.catalog, claim, status, **outcome)
        self._tasks.spool(claim.task.id).remove_body()
        _log.info("task %s: %s is %s", claim.task.id, claim.task.kind, status)

    def _work(self, claim: Claim, cancelled: threading.Event) -> Mapping[str, object]:
        if cancelled.is_set() or self._closing.is_set():
            raise TaskStopped
        if claim.collection is None:
            raise CollectionNotFound("The collection was deleted.", field="collection")
        spool = self._tasks.spool(claim.task.id)
        context = TaskContext(self._services, claim, spool, claim.collection, cancelled, self._closing)
        return KINDS[claim.task.kind].run(context)

    def _stopped(self, claim: Claim, cancelled: threading.Event) -> None:
        if cancelled.is_set():
            self._end(claim, "cancelled")
        else:
            release_task(self._services.store.catalog, claim)

    def _beat(self, claim: Claim, cancelled: threading.Event) -> bool:
        try:
            if renew_claim(self._services.store.catalog, claim):
                cancelled.set()
            self.backlog = backlog(self._services.store.catalog)
        except ClaimLost:
            cancelled.set()
            return False
        except SpanseekError as error:
            _log.warning("could not renew the claim on task %s: %s", claim.task.id, error)
        return True

    def _sweep(self) -> None:
        """Forget tasks that ended long ago, and remove the files that belong to no task."""
        catalog = self._services.store.catalog
        with suppress(FileNotFoundError):
            folders = list(spool_root(self._services.store).iterdir())
            left = forget_ended(catalog, catalog.clock() - self._keep)
            for spool in map(Spool, folders):
                if spool.folder.name not in left:
                    spool.remove()
                elif not left[spool.folder.name]:
                    spool.remove_body()


def _failure(error: SpanseekError) -> dict[str, str]:
    return {"code": error.code, "detail": str(error), "hint": error.hint}


_UNFORESEEN: Final = {
    "code": "internal_error",
    "detail": "The task failed in an unforeseen way.",
    "hint": "The server's log has the details.",
}
