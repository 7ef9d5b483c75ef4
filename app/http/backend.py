"""What a running server holds: encoders, collections and the search over them.

Opened when first needed and, where that failed, tried again by the next request: a server whose database or model is
missing starts, says so, and gets well by itself when they come.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from app.calibration.concurrent import ConcurrentThresholds
from app.collections.concurrent import ConcurrentWriting
from app.composition import Services
from app.http.anonymous_access import Doors
from app.http.server_errors import internal_error
from app.phrases.service import PhraseService
from app.search.concurrent import ConcurrentSearch
from indexer.catalog import schema
from indexer.errors import CatalogUnavailable
from indexer.store import Store
from models.encoders.base import Encoder, encode_queries
from models.errors import InvalidInput, SpanseekError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Startup:
    """What a backend loads, opens and warms up, at start or when first needed."""

    load_encoder: Callable[[], Encoder]
    open_services: Callable[[], Services]
    warm_up_engine: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for."""

    queue: int
    deadline_s: float
    write_deadline_s: float
    batch: int


@dataclass(frozen=True, slots=True)
class _Opened:
    store: Store
    search: ConcurrentSearch
    writing: ConcurrentWriting
    thresholds: ConcurrentThresholds
    phrases: PhraseService


class Backend:
    """One a server. All methods may block: call them in threads, not on the event loop. ``doors`` never do."""

    def __init__(self, startup: Startup, limits: Limits) -> None:
        self.limits = limits
        self.doors = Doors()
        self._startup = startup
        self._opened: _Opened | None = None
        self._lock = Lock()

    @property
    def store(self) -> Store:
        """The collections. Raises ``CatalogUnavailable`` where their database cannot be opened."""
        return self._open().store

    @property
    def search(self) -> ConcurrentSearch:
        """The search over them; does not block once the store is open."""
        return self._open().search

    @property
    def writing(self) -> ConcurrentWriting:
        """How documents get into them and out of them; does not block once the store is open."""
        return self._open().writing

    @property
    def thresholds(self) -> ConcurrentThresholds:
        """What an administrator sets for them, and sees before; does not block once the store is open."""
        return self._open().thresholds

    @property
    def phrases(self) -> PhraseService:
        """The saved phrases; what encodes or matches is done in the lane of :attr:`writing`."""
        return self._open().phrases

    def checks(self) -> Mapping[str, SpanseekError | None]:
        """What answering needs, and what is wrong with it."""
        return {
            "database": _error_of(lambda: schema.check(self.store.catalog)),
            "encoder": _error_of(self._startup.load_encoder),
        }

    def warm_up(self) -> None:
        """Open and load everything now, so that no request waits for it. What fails is logged."""
        checks = self.checks()
        for name, error in checks.items():
            if error is not None:
                _log.error("not ready, %s: %s %s", name, error, error.hint)
        if checks["encoder"] is None:
            encode_queries(self._startup.load_encoder(), ["warm up"])  # the first pass takes many times as long
        try:
            self._startup.warm_up_engine()
        except OSError as error:  # nowhere to put a temporary file; searches need none
            _log.warning("the first search will be slow: %s", error)

    def waiting(self) -> Mapping[str, int]:
        """How many requests wait, by lane."""
        opened = self._opened
        if opened is None:
            return {}
        return {**opened.search.waiting, "write": opened.writing.waiting, "tune": opened.thresholds.waiting}

    def refresh(self) -> None:
        """Let go of old snapshots though nobody searches, and take up merging that was left."""
        opened = self._opened
        if opened is not None:
            opened.writing.tidy()
            try:
                opened.store.refresh()
            except SpanseekError as error:
                _log.warning("the snapshots were not refreshed: %s", error)

    def close(self) -> None:
        """Finish what was begun and let go of everything."""
        with self._lock:
            if self._opened is not None:
                self._opened.search.close()
                self._opened.writing.close()
                self._opened.thresholds.close()
                self._opened.store.catalog.close()

    def _open(self) -> _Opened:
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._opened = self._make()
        return self._opened

    def _make(self) -> _Opened:
        try:
            services = self._startup.open_services()
        except InvalidInput as error:  # a setting of the operator's, no fault of the request
            raise CatalogUnavailable(str(error), hint=error.hint) from error
        return _Opened(
            services.store,
            ConcurrentSearch(services.search, queue_limit=self.limits.queue),
            ConcurrentWriting(services.documents, queue_limit=self.limits.queue),
            ConcurrentThresholds(services.thresholds, queue_limit=self.limits.queue),
            services.phrases,
        )


def _error_of(check: Callable[[], object]) -> SpanseekError | None:
    try:
        check()
    except SpanseekError as error:
        return error
    except Exception:  # noqa: BLE001  a broken model must not keep the server from saying so
        _log.exception("a check failed in a way that was not foreseen")
        return internal_error()
    return None
