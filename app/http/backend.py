"""The state of a running server: its encoders, its collections and the services over them.

It is opened at first use, and after a failure again by the next request: a server without its database or model starts,
reports it, and recovers when they appear.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, Protocol, TypeVar

from app.collections.documents import DocumentService
from app.http.event_watch import EventWatch
from app.http.lanes import JobLane
from app.http.pools import Places, Pool, run_in_time
from app.http.problems import internal_error
from app.http.readiness import Checks, Readiness
from app.http.search_lanes import SearchLanes
from app.http.span_lane import SpanLane
from app.http.stages import Observe, unobserved
from app.http.task_watch import TaskWatch
from app.http.write_lane import WriteLane
from app.search.service import SearchService
from app.services import Made, Services
from app.tasks.service import TaskService
from app.tasks.worker import TaskWorkers
from app.texts.spans import SpanService
from indexer.catalog import schema
from indexer.catalog.erasing import finish_erasing
from indexer.catalog.matches import last_events
from indexer.catalog.tasks import Backlog
from indexer.engine.executor import Executor
from indexer.errors import CatalogUnavailable, ExecutorUnavailable
from indexer.types import Collection
from models.encoders.base import Encoder, encode_queries
from models.entry_points import entry_points_of
from models.errors import InvalidInput, SpanseekError

Result = TypeVar("Result")

_log = logging.getLogger(__name__)

# Threads that write and unpack bodies, and that write to the catalog.
_RECEIVING: Final = 2
_WRITING: Final = 4


@dataclass(frozen=True, slots=True)
class Startup:
    """Functions that load, open and warm up a backend, at start or at first use."""

    load_encoder: Callable[[], Encoder]
    open_services: Callable[[], Services]
    warm_up_engine: Callable[[], None]
    executor: Executor


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of requests; ``uploads`` arrive at once, and ``waits`` wait for tasks."""

    queue: int
    deadline_s: float
    write_deadline_s: float
    batch: int
    uploads: int = 64
    waits: int = 500
    lease_wait_s: float = 0.0


class Started(Protocol):
    """What a plug-in starts with a server: an entry point of the group ``spanseek.services`` makes it of services."""

    def close(self) -> None:
        """Stop it."""


@dataclass(frozen=True, slots=True)
class _Opened:
    services: Services
    search: SearchLanes
    spans: SpanLane
    writing: WriteLane
    tuning: JobLane
    texts: JobLane
    workers: TaskWorkers
    of_plugins: tuple[Started, ...]

    def close(self) -> None:
        for part in (*self.of_plugins, self.workers, self.search, self.spans, self.writing, self.tuning, self.texts):
            part.close()
        self.services.store.close()


class _Opening(Generic[Result]):
    """An attribute of a backend that is there once it is open."""

    def __init__(self, get: Callable[[_Opened], Result]) -> None:
        self._get = get

    def __get__(self, backend: "Backend", owner: type["Backend"]) -> Result:
        return self._get(backend._open())


class Backend:
    """One per server. Its methods may block: call them in threads, not on the event loop."""

    def __init__(self, startup: Startup, limits: Limits, observe: Observe = unobserved) -> None:
        self.limits = limits
        self.sizes: tuple[Collection, ...] = ()  # as of the last refresh, for the figures of collections
        self._observe = observe
        self._startup = startup
        self._opened: _Opened | None = None
        self._lock = Lock()
        self.readiness = Readiness(self.checks, limits.deadline_s)
        # What may block, apart from the threads in which keys are looked up and searches prepared: bodies that arrive,
        # other writes to the catalog, and looks at tasks.
        self.receiving = Pool("receive", threads=_RECEIVING, limit=2 * limits.uploads + limits.queue)
        self.writes = Pool("write", threads=_WRITING, limit=limits.queue)
        self.watching = Pool("watch", threads=1, limit=limits.queue)
        self.arrivals = Places(limits.uploads, "{limit} uploads arrive already.")
        self.events = EventWatch(lambda ids: last_events(self.store.catalog, ids), self.watching, limit=limits.waits)
        self.watch = TaskWatch(lambda ids: self.get(TaskService).described(ids), self.watching, limit=limits.waits)

    # Each is made at first use, and raises ``CatalogUnavailable`` if the database cannot be opened.
    store = _Opening(lambda opened: opened.services.store)
    # The lanes: of searches, of the decoder that restores texts, of spans of texts, of writes and whatever encodes, of
    # full passes over a collection for previews and calibrations, and of comparisons and summaries.
    search = _Opening(lambda opened: opened.search)
    restore_lane = _Opening(lambda opened: opened.search.restoring)
    spans = _Opening(lambda opened: opened.spans)
    writing = _Opening(lambda opened: opened.writing)
    tuning = _Opening(lambda opened: opened.tuning)
    texts = _Opening(lambda opened: opened.texts)

    def get(self, kind: type[Made]) -> Made:
        """The service of a class. Raises ``CatalogUnavailable`` if the database cannot be opened."""
        return self._open().services.get(kind)

    def stores_text(self, collection: str) -> bool:
        """True if a collection stores its texts. Raises ``CollectionNotFound``."""
        return self.store.catalog.collection(collection).recipe.stores_text

    async def write(self, job: Callable[[], Result]) -> Result:
        """Run a job that writes to the catalog alone. Raises ``DeadlineExceeded``."""
        return await run_in_time(self.writes, job, self.limits.deadline_s)

    async def read(self, collection: str, job: Callable[[], Result]) -> Result:
        """Read stored texts: in a thread, or by the decoder in its lane where the collection stores none."""
        if await asyncio.to_thread(lambda: self.store.snapshot(collection).recipe.stores_text):
            return await asyncio.to_thread(job)
        return await self.restore_lane.run(job, self.limits.deadline_s)

    def task_backlog(self) -> Mapping[str, Backlog]:
        """The tasks that have not ended, by status."""
        return self._opened.workers.backlog if self._opened else {}

    def checks(self) -> Checks:
        """The dependencies of answers, each with its error or None."""
        return {
            "database": _error_of(lambda: schema.check(self.store.catalog)),
            "encoder": _error_of(self._startup.load_encoder),
            "executor": _error_of(lambda: _check_health(self.executor)),
        }

    @property
    def executor(self) -> Executor:
        """The executor that reads the segments of collections."""
        return self._startup.executor

    def warm_up(self) -> None:
        """Open and load everything now, so that no request waits for it. Failures are logged."""
        checks = self.checks()
        for name, error in checks.items():
            if error is not None:
                _log.error("not ready, %s: %s %s", name, error, error.hint)
        if checks["encoder"] is None:
            encode_queries(self._startup.load_encoder(), ["warm up"])  # the first pass takes many times as long
        self.refresh()
        self._name_damaged()
        self._warm_up_texts()
        try:
            self._startup.warm_up_engine()
        except OSError as error:  # nowhere to put a temporary file; searches need none
            _log.warning("the first search will be slow: %s", error)

    def _name_damaged(self) -> None:
        """Log which collections cannot be read; the others are served."""
        if self._opened is not None:
            with suppress(SpanseekError):  # of the catalog, which `refresh` has logged
                for error in self.store.catalog.damaged():
                    _log.error("a collection is not served: %s %s", error, error.hint)

    def _warm_up_texts(self) -> None:
        """Load what restores the texts of collections that store none: torch and transformers take seconds."""
        if self._opened is None:
            return
        encoders = self._opened.services.encoders
        for each in (each for each in self.sizes if not each.recipe.stores_text):
            try:
                encoders.texts(each.recipe).warm_up()
            except SpanseekError as error:
                _log.error("texts of %s cannot be restored: %s %s", each.name, error, error.hint)

    def waiting(self) -> Mapping[str, int]:
        """The number of waiting requests, by lane."""
        opened = self._opened
        if opened is None:
            return {}
        return {
            **opened.search.waiting,
            **opened.spans.waiting,
            **opened.writing.waiting,
            "tune": opened.tuning.waiting,
            "texts": opened.texts.waiting,
        }

    def damaged_segments(self) -> int:
        """The number of segments that are left out of searches."""
        return len(self._opened.services.store.damages()) if self._opened else 0

    def refresh(self) -> None:
        """Release old snapshots of an idle server, and resume postponed merging and erasing."""
        opened = self._opened
        if opened is not None:
            opened.writing.tidy()
            try:
                opened.services.store.refresh()
                finish_erasing(opened.services.store.catalog.database)
                self.sizes = opened.services.store.catalog.collections()
            except SpanseekError as error:
                _log.warning("the snapshots were not refreshed: %s", error)

    def close(self) -> None:
        """Finish running requests and close everything."""
        self.readiness.close()
        self.events.close()
        for pool in (self.receiving, self.writes, self.watching):
            pool.close()
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    def _open(self) -> _Opened:
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._opened = self._make()
        return self._opened

    def _make(self) -> _Opened:
        try:
            services = self._startup.open_services()
        except InvalidInput as error:  # the operator's setting, not the request
            raise CatalogUnavailable(str(error), hint=error.hint) from error
        services.get(TaskService).ended = self.watch.changed
        limit, late = self.limits.queue, "Not done within {seconds:g} s."
        return _Opened(
            services,
            SearchLanes(services.get(SearchService), queue_limit=limit, observe=self._observe),
            SpanLane(services.get(SpanService), queue_limit=limit),
            WriteLane(
                services.get(DocumentService).tidy,
                queue_limit=limit,
                deadline_s=self.limits.write_deadline_s,
                lease_wait_s=self.limits.lease_wait_s,
                observe=self._observe,
            ),
            JobLane("tune", timeout=late, hint="Request less at once, or use the command line.", limit=limit),
            JobLane("texts", timeout=late, hint="Send less at once.", limit=limit),
            TaskWorkers.of(services),
            tuple(point.load()(services) for point in entry_points_of("spanseek.services").values()),
        )


def _check_health(executor: Executor) -> None:
    reason = executor.health()
    if reason is not None:
        raise ExecutorUnavailable(reason, hint="Mend what it runs on, and restart the server.")


def _error_of(check: Callable[[], object]) -> SpanseekError | None:
    try:
        check()
    except SpanseekError as error:
        return error
    except Exception:  # noqa: BLE001  the server must report a broken model
        _log.exception("a check failed with an unexpected error")
        return internal_error()
    return None
