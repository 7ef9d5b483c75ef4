"""What runs in an actor: it holds views of segments in memory, and answers steps of queries about them."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Final, TypeAlias

import numpy as np

from indexer.cluster.shipment import Shipment, ViewKey
from indexer.engine.executor import AnyQuery, Step, in_rounds
from indexer.engine.query import Selection
from indexer.engine.snapshot import SegmentView
from indexer.segments.opened import is_quarantined
from models.errors import SpanseekError

# Queries between two of their rounds: what they computed in the first is of use in the next.
_QUERIES: Final = 32
_PAGE: Final = 4096
# Seconds after which folders of held segments are looked at again: those of removed segments are let go.
_LOOK_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Divisible:
    """All rounds of a query, over the segments of one actor alone."""

    query: AnyQuery
    selection: Selection


# What an actor is asked at once.
Asked: TypeAlias = Step | Divisible


@dataclass(frozen=True, slots=True)
class Lacking:
    """The answer of an actor that does not hold some of the views: their places in the request."""

    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer of an actor to a request that is refused, as it would be in the front's own process."""

    error: SpanseekError


@dataclass(frozen=True, slots=True)
class Figures:
    """What an actor says of itself. ``idle_s`` is the time since it was asked last, None if it never was."""

    segments: int = 0
    units: int = 0
    answered: int = 0
    draining: bool = False
    idle_s: float | None = None


class SegmentActor:
    """Holds the views that were used last: ``limit`` of them, or twice those of the largest request if that is more.

    Ray runs its methods in threads: steps of searches in one, of passes over everything in another, and what must not
    wait for either in a third.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._views: OrderedDict[ViewKey, SegmentView] = OrderedDict()
        self._queries: OrderedDict[tuple[str, int], AnyQuery] = OrderedDict()
        self._lock = Lock()
        self._answered, self._draining, self._looked = 0, False, time.monotonic()
        self._asked: float | None = None

    def hold(self, shipments: Sequence[Shipment]) -> list[SpanseekError | None]:
        """Open views and read them into memory; for each the error that prevents it."""
        self._limit = max(self._limit, 2 * len(shipments))
        return [self._hold(shipment) for shipment in shipments]

    def ask(self, front: str, keys: Sequence[ViewKey], asked: Asked) -> "list[Any] | Lacking | Failed":
        """The answers of views, in their order, to a step of a query of a front."""
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
        """Its figures. What was removed from the disk is let go."""
        if time.monotonic() - self._looked > _LOOK_S:
            self._let_go()
        with self._lock:
            views = list(self._views.values())
        units = sum(view.segment.manifest.units for view in views)
        idle_s = None if self._asked is None else time.monotonic() - self._asked
        return Figures(len({view.segment.key for view in views}), units, self._answered, self._draining, idle_s)

    def probe(self) -> None:
        """Return when the steps before it are answered."""

    def drain(self, draining: bool) -> None:
        """Ask fronts to place nothing here, or to place again."""
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
            self._views[shipment.key] = view
            while len(self._views) > self._limit:
                self._views.popitem(last=False)
        return None

    def _found(self, keys: Sequence[ViewKey]) -> list[SegmentView | None]:
        with self._lock:
            for key in keys:
                if key not in self._views:
                    continue
                self._views.move_to_end(key)
                if is_quarantined(self._views[key].segment.key):  # opening it again says what is wrong
                    del self._views[key]
            return [self._views.get(key) for key in keys]

    def _answer(self, front: str, views: list[SegmentView], asked: Asked) -> list[Any]:
        if isinstance(asked, Divisible):
            return in_rounds(lambda step: [step(view) for view in views], asked.query, asked.selection).parts
        query = self._remembered((front, asked.number), asked)
        step = replace(asked, query=query)
        return [step(view) for view in views]

    def _remembered(self, key: tuple[str, int], step: Step) -> AnyQuery:
        """The query of the rounds before, with what they computed."""
        with self._lock:
            query = self._queries.pop(key, step.query)
            if not step.is_last:
                self._queries[key] = query
                while len(self._queries) > _QUERIES:
                    self._queries.popitem(last=False)
            return query

    def _let_go(self) -> None:
        self._looked = time.monotonic()
        with self._lock:
            held = list(self._views.items())
        gone = [key for key, view in held if not view.segment.folder.exists()]
        with self._lock:
            for key in gone:
                self._views.pop(key, None)


def _touch(array: np.ndarray) -> None:
    """Read a byte of every page of a mapped array."""
    if array.size:
        np.add.reduce(array.reshape(-1).view(np.uint8)[::_PAGE], dtype=np.int64)
