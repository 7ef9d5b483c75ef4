"""Workers: threads of low priority that run tasks, one of each collection at a time, until the server stops."""

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final, Self

from app.services import Services
from app.tasks.context import TaskContext, TaskStopped
from app.tasks.kinds import kind_named
from app.tasks.service import TaskService, spool_root
from app.tasks.spool import Spool
from indexer.catalog.claims import Claim, claim_task, finish_task, release_task, renew_claim, retry_task
from indexer.catalog.tasks import Backlog, ClaimLost, Ended, backlog, forget_ended
from indexer.disk import named_error
from indexer.errors import CollectionNotFound
from indexer.heartbeat import beating
from models.errors import SpanseekError
from models.interruption import interruptible
from models.priority import lower_priority

# Seconds between two looks at the catalog, between two renewals of a claim, and after a look that failed.
_POLL_S: Final = 1.0
_BEAT_S: Final = 1.0
_RETRY_S: Final = 5.0
_SWEEP_S: Final = 600.0
# Seconds for which a stopping server waits for its tasks; what has not ended then is resumed by the next server.
_CLOSE_S: Final = 10.0

_log = logging.getLogger(__name__)


class TaskWorkers:
    """Runs the tasks of one store. ``backlog`` has those that have not ended, as of the last look."""

    def __init__(
        self,
        services: Services,
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

    @classmethod
    def of(cls, services: Services) -> Self:
        """Start the workers of a server."""
        settings = services.settings
        return cls(services, services.get(TaskService), threads=settings.task_workers, keep_days=settings.task_days)

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
                    self.look()
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
        """Run the task whose turn it is; returns the seconds until the next look."""
        claim = claim_task(self._services.store.catalog)
        if claim is None:
            return _POLL_S
        try:
            self._serve(claim)
        except ClaimLost:
            _log.warning("task %s was taken over by another worker", claim.task.id)
        return 0.0

    def look(self) -> None:
        """Forget bodies that were not accepted, and read the figures of the backlog."""
        self._tasks.forget_abandoned()
        self.backlog = backlog(self._services.store.catalog)

    def _serve(self, claim: Claim) -> None:
        cancelled = threading.Event()
        if claim.task.cancelled:
            cancelled.set()
        spool = self._tasks.spool(claim.task.id)
        context = TaskContext(self._services, claim, spool, claim.collection or "", cancelled, self._closing)
        _log.info("task %s: %s begins", claim.task.id, claim.task.kind)
        with beating(partial(self._beat, claim, cancelled), every=_BEAT_S):
            try:
                self._run_claimed(context)
            except ClaimLost:
                raise
            except BaseException as error:  # noqa: BLE001  compiled libraries panic with errors that are no Exception
                self._failed(context, error)

    def _run_claimed(self, context: TaskContext) -> None:
        kind, claim = kind_named(context.claim.task.kind), context.claim
        try:
            if context.stop():
                raise TaskStopped
            if claim.collection is None:
                raise CollectionNotFound("The collection was deleted.", field="collection")
            with interruptible(context.check_stop):
                result = kind.run(context)
            self._end(claim, "done", result=result)
        except ClaimLost:
            raise
        except Exception as error:
            if context.cancelled.is_set():
                renew_claim(self._services.store.catalog, claim)  # what another worker goes on with is not undone
                kind.undo(context)
                self._end(claim, "cancelled")
            elif isinstance(error, TaskStopped):
                release_task(self._services.store.catalog, claim)
            else:
                raise

    def _failed(self, context: TaskContext, error: BaseException) -> None:
        """End the task by an error, or queue it again: what was promised is kept through every error but a refusal."""
        claim, named = context.claim, named_error(error)
        if named is None:
            _log.error("task %s failed in an unforeseen way", claim.task.id, exc_info=error)
        reason = named or _unforeseen(error)
        if kind_named(claim.task.kind).ends(named or error, claim.task.failures):
            self._end(claim, "failed", error=reason)
            return
        again = retry_task(self._services.store.catalog, claim, reason)
        _log.warning("task %s waits until %s: %s %s", claim.task.id, f"{again:%H:%M:%S}", reason, reason.hint)

    def _end(
        self,
        claim: Claim,
        status: Ended,
        *,
        result: Mapping[str, object] | None = None,
        error: SpanseekError | None = None,
    ) -> None:
        finish_task(self._services.store.catalog, claim, status, result=result, error=error)
        _log.info("task %s: %s is %s", claim.task.id, claim.task.kind, status)
        self._tasks.ended()
        with suppress(OSError):  # what cannot be removed now is swept later
            self._tasks.spool(claim.task.id).remove_body()

    def _beat(self, claim: Claim, cancelled: threading.Event) -> bool:
        try:
            if renew_claim(self._services.store.catalog, claim):
                cancelled.set()
            self.look()
        except ClaimLost:
            cancelled.set()
            return False
        except Exception as error:  # noqa: BLE001  the claim outlives several beats
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


def _unforeseen(error: BaseException) -> SpanseekError:
    # Its message may hold texts, and stays in the log.
    return SpanseekError(
        f"The task failed in an unforeseen way ({type(error).__name__}).",
        hint="The server's log has the details.",
    )
