"""The work of an actor: it holds views of segments in memory, and answers steps of queries about them."""

import logging
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock, Thread
from typing import Any, Final, TypeAlias

import numpy as np

from indexer.engine.executor import AnyQuery, Step, in_rounds
from indexer.engine.query import Selection
from indexer.engine.views import SegmentView
from indexer.errors import SegmentsUnavailable
from indexer.segments.opened import is_quarantined
from indexer.segments.options import SegmentsOptions, shared_segments
from models.errors import SpanseekError
from spanseek_ray.shipment import Shipment, ViewKey

# Queries between two of their rounds: what they computed in the first is of use in the next.
_QUERIES: Final = 32
_PAGE: Final = 4096
# Seconds between two looks for removed segments, whose views are then released.
_LOOK_S: Final = 10.0
# Seconds without a request after which a view may be released if the cache of a bucket is over its limit.
_IDLE_S: Final = 600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Divisible:
    """All rounds of a query, over the segments of one actor alone."""

    query: AnyQuery
    selection: Selection


# What an actor is asked at once.
Asked: TypeAlias = Step | Divisible


@dataclass(frozen=True, slots=True)
class Lacking:
    """The answer of an actor that does not hold some of the requested views, with their positions in the request."""

    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer of an actor whose work raised an error; the process that asked raises that error."""

    error: SpanseekError


@dataclass(frozen=True, slots=True)
class Figures:
    """An actor's own figures. ``idle_s`` is the time since it was asked last, None if it never was."""

    segments: int = 0
    units: int = 0
    answered: int = 0
    draining: bool = False
    idle_s: float | None = None


@dataclass(eq=False, slots=True)
class Held:
    """A view that is held, and when it was asked for last."""

    view: SegmentView
    shipment: Shipment
    asked: float = field(default_factory=time.monotonic)


class SegmentActor:
    """Holds the views that were used last: ``limit`` of them, or twice those of the largest request if that is more.

    Ray runs its methods in threads: steps of searches in one, of passes over everything in another, of opening in some
    others, and what must wait for none of these in a last one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._views: OrderedDict[ViewKey, Held] = OrderedDict()
        self._queries: OrderedDict[tuple[str, int], AnyQuery] = OrderedDict()
        self._places: set[SegmentsOptions] = set()
        self._lock = Lock()
        self._answered, self._draining, self._looked = 0, False, time.monotonic()
        self._looking: Thread | None = None
        self._asked: float | None = None

    def hold(self, shipments: Sequence[Shipment]) -> list[SpanseekError | None]:
        """Open views and read them into memory; for each the error that prevents it."""
        self._limit = max(self._limit, 2 * len(shipments))
        return [self._hold(shipment) for shipment in shipments]

    def ask(self, front: str, keys: Sequence[ViewKey], asked: Asked) -> "list[Any] | Lacking | Failed":
        """Return the answers of views, in their order, to a step of a front's query.

        Returns ``Lacking`` if the actor does not hold all of the views, and ``Failed`` if the step raises an error.
        """
        self._limit = max(self._limit, 2 * len(keys))
        views = self._found(keys)
        if lacking := tuple(place for place, view in enumerate(views) if view is None):
            return Lacking(lacking)
        there = [view for view in views if view is not None]
        try:
            answer = self._answer(front, there, asked)
        except SpanseekError as error:
            return Failed(error)
        self._answered, self._asked = self._answered + 1, time.monotonic()
        return answer

    def figures(self) -> Figures:
        """Return the actor's figures, and call :meth:`let_go` if the last look was more than ``_LOOK_S`` seconds ago.

        It runs in a thread, because a bucket may take long to list its segments.
        """
        if time.monotonic() - self._looked > _LOOK_S and not (self._looking and self._looking.is_alive()):
            self._looked = time.monotonic()
            self._looking = Thread(target=self.let_go, name="let-go", daemon=True)
            self._looking.start()
        with self._lock:
            views = [held.view for held in self._views.values()]
        units = sum(view.segment.manifest.units for view in views)
        idle_s = None if self._asked is None else time.monotonic() - self._asked
        return Figures(len({view.segment.key for view in views}), units, self._answered, self._draining, idle_s)

    def let_go(self) -> None:
        """Release the views of removed segments and, if the cache of a bucket is over its limit, views that are idle.

        The node's cache may then delete the files of these segments.
        """
        with self._lock:
            places = tuple(self._places)
        for where in places:
            try:
                self._drop(self._gone(where))
                shared_segments(where).refresh()
            except SegmentsUnavailable as error:
                _log.warning("what was removed is let go later: %s", error)

    def _gone(self, where: SegmentsOptions) -> list[ViewKey]:
        with self._lock:  # those used least recently are first
            held = [each for each in self._views.values() if each.shipment.where == where]
        ids = {each.shipment.collection_id for each in held}
        stored = {id: shared_segments(where).stored(id) for id in ids}
        gone = [each for each in held if each.shipment.info.name not in stored[each.shipment.collection_id]]
        if where.url:
            gone += _too_many([each for each in held if each not in gone], where.cache_bytes)
        return [each.shipment.key for each in gone]

    def probe(self) -> None:
        """Do nothing: the call returns once all search steps that were sent before it have been answered."""

    def drain(self, draining: bool) -> None:
        """Ask fronts to stop placing segments on this actor, or to place them here again."""
        self._draining = draining

    def _hold(self, shipment: Shipment) -> SpanseekError | None:
        if None not in self._found([shipment.key]):  # another front has had it opened
            return None
        try:
            view = shipment.open()
        except SpanseekError as error:
            return error
        for array in (view.segment.vectors, view.segment.norm_codes):
            _touch(array)
        with self._lock:
            self._places.add(shipment.where)
            self._views[shipment.key] = Held(view, shipment)
            while len(self._views) > self._limit:
                self._views.popitem(last=False)
        return None

    def _found(self, keys: Sequence[ViewKey]) -> list[SegmentView | None]:
        with self._lock:
            for key in keys:
                if key not in self._views:
                    continue
                self._views.move_to_end(key)
                self._views[key].asked = time.monotonic()
                if is_quarantined(self._views[key].view.segment.key):  # opening it again says what is wrong
                    del self._views[key]
            return [self._views[key].view if key in self._views else None for key in keys]

    def _answer(self, front: str, views: list[SegmentView], asked: Asked) -> list[Any]:
        if isinstance(asked, Divisible):
            return in_rounds(lambda step: [step(view) for view in views], asked.query, asked.selection).parts
        query = self._remembered((front, asked.number), asked)
        step = replace(asked, query=query)
        return [step(view) for view in views]

    def _remembered(self, key: tuple[str, int], step: Step) -> AnyQuery:
        """Return the query as earlier rounds left it, with what they computed; keep it until the last round."""
        with self._lock:
            query = self._queries.pop(key, step.query)
            if not step.is_last:
                self._queries[key] = query
                while len(self._queries) > _QUERIES:
                    self._queries.popitem(last=False)
            return query

    def _drop(self, keys: Collection[ViewKey]) -> None:
        with self._lock:
            for key in keys:
                self._views.pop(key, None)


def _too_many(held: Sequence[Held], limit: int) -> list[Held]:
    """Choose idle views to release until the rest fits into ``limit`` bytes, given the least recently used first."""
    sizes = {each.view.segment.key: each.shipment.info.bytes for each in held}
    excess, gone = sum(sizes.values()) - limit, list[Held]()
    for each in held:
        if excess > 0 and time.monotonic() - each.asked > _IDLE_S:
            gone.append(each)
            excess -= sizes.pop(each.view.segment.key, 0)
    return gone


def _touch(array: np.ndarray) -> None:
    """Read a byte of every page of a mapped array."""
    if array.size:
        np.add.reduce(array.reshape(-1).view(np.uint8)[::_PAGE], dtype=np.int64)
