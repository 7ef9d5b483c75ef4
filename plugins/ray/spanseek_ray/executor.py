"""The executor ``ray``: segments are read by the actors of a Ray cluster."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

from indexer.ann.candidates import Budget, CandidateExecutor
from indexer.engine.executor import (
    ExecutorOptions,
    Mapped,
    Rows,
    SegmentQuery,
    Step,
    Total,
)
from indexer.engine.member import Member
from indexer.engine.query import Selection
from indexer.engine.views import SegmentView, Views
from indexer.errors import ExecutorUnavailable
from indexer.segments.manifest import SegmentKey
from indexer.segments.recent import Recent
from models.errors import SpanseekError
from spanseek_ray.actor import Asked, Divisible
from spanseek_ray.peers import Peers
from spanseek_ray.settings import ClusterOptions, RaySettings
from spanseek_ray.shipment import Shipment, ViewKey

if TYPE_CHECKING:
    from spanseek_ray.membership import Membership

Item = TypeVar("Item")

# A search for at most so many hits has a deadline; a pass for more takes as long as it takes.
_PROMPT: Final = 10_000
# Filters whose budgets of candidates are kept for a snapshot.
_BUDGETS: Final = 32


class RayExecutor(CandidateExecutor):
    """Plans as the executor ``candidates`` does, and has every segment read by an actor that holds it.

    The first query joins the cluster. ``ship`` makes the shipment by which a view is sent to actors.
    """

    name = "ray"

    def __init__(self, options: ClusterOptions, ship: Callable[[SegmentView], Shipment] = Shipment.of) -> None:
        super().__init__()
        self._options, self._ship = options, ship
        self._front = uuid4().hex
        self._peers = Peers(options.replicas, options.queue)
        self._shipped: WeakKeyDictionary[SegmentView, tuple[Shipment, ViewKey]] = WeakKeyDictionary()
        self._budgets: WeakKeyDictionary[Views, Recent[Budget]] = WeakKeyDictionary()
        self._lock, self._joining = Lock(), Lock()

    @classmethod
    def create(cls, options: ExecutorOptions) -> "RayExecutor":
        """The executor of the operator's cluster."""
        cluster: ClusterOptions = options.settings(RaySettings).cluster
        where = options.segments
        if where is None:
            return cls(cluster)
        everywhere = replace(where, folder=where.folder.absolute())
        return cls(cluster, partial(Shipment.of, where=everywhere))

    def budget(self, snapshot: Views, selection: Selection) -> Budget:
        """The windows and blocks of all segments, asked once for every generation and filter."""
        with self._lock:
            budgets = self._budgets.setdefault(snapshot, Recent(_BUDGETS))
        return budgets.get(selection.filter.key, lambda: super(RayExecutor, self).budget(snapshot, selection))

    def run(self, snapshot: Views, planned: SegmentQuery[Total, Rows], selection: Selection) -> Mapped[Total, Rows]:
        """Run the rounds of a planned query, all in one request where no actor needs the totals of the others."""
        if planned.rounds and planned.is_divisible:
            return Mapped(None, self._ask(snapshot, Divisible(planned, selection), selection))
        return super().run(snapshot, planned, selection)

    def each(self, snapshot: Views, read: Callable[[SegmentView], Item]) -> list[Item]:
        """The answers of all segments, from the actors that hold them."""
        if not isinstance(read, Step):
            raise TypeError(f"{read!r} is no step of a query")
        return self._ask(snapshot, read, read.selection)

    def prepare(self, views: Iterable[SegmentView]) -> None:
        """Have actors open the views that they will be asked for; wait for those that are still at work on it."""
        shipments = [shipment for shipment, _ in map(self._shipment, views)]
        with suppress(ExecutorUnavailable):  # who reads documents needs no actor
            self._joined().prepare(shipments)

    def _ask(self, snapshot: Views, asked: Asked, selection: Selection) -> list[Any]:
        from spanseek_ray.asking import Round

        if not snapshot.views:
            return []
        self._watched()
        shipments, keys = zip(*map(self._shipment, snapshot.views), strict=True)
        deadline_s = self._options.deadline_s if selection.top_k <= _PROMPT else None
        return Round(self._peers, self._front, shipments, keys, asked, deadline_s).answers()

    def _shipment(self, view: SegmentView) -> tuple[Shipment, ViewKey]:
        with self._lock:
            shipped = self._shipped.get(view)
            if shipped is None:
                shipment = self._ship(view)
                shipped = self._shipped[view] = shipment, shipment.key
            return shipped

    def _known(self) -> Iterable[Shipment]:
        with self._lock:
            return [shipment for shipment, _ in self._shipped.values()]

    @cached_property
    def _membership(self) -> "Membership":
        from spanseek_ray.membership import Membership

        return Membership(self._options, self._peers, self._known)

    def _joined(self) -> "Membership":
        with self._joining:
            return self._membership

    def _watched(self) -> "Peers":
        """Join the cluster, wait until an actor can be asked or the time is up, and return the actors."""
        self._joined()
        self._peers.wait(self._options.deadline_s)
        return self._peers

    @property
    def reads_here(self) -> bool:
        """False: actors read."""
        return False

    @property
    def reach(self) -> int:
        """The number of times that segments were lost or found again."""
        return self._peers.reach

    def unreachable(self, key: SegmentKey) -> SpanseekError | None:
        """The reason why no actor can be asked for a segment; None if one can."""
        return self._peers.unreachable(key)

    @property
    def unreachable_segments(self) -> int:
        """The number of segments that no actor could be asked for, and that were not found again."""
        return len(self._peers.missing)

    def members(self) -> Sequence[Member]:
        """The actors of the cluster."""
        return [peer.member for peer in self._peers]

    @property
    def held_segments(self) -> int:
        """The number of segments that the actors say they hold, replicas included."""
        return sum(peer.figures.segments for peer in self._peers)

    def health(self) -> str | None:
        """The reason why no actor can be asked."""
        try:
            peers = self._watched()
        except ExecutorUnavailable as error:
            return str(error)
        if peers.ready:
            return None
        states = ", ".join(f"{peer.name} is {peer.state.value}" for peer in peers) or "there are none"
        return f"No actor of the cluster can be asked: {states}."

    def close(self) -> None:
        """Leave the cluster; its actors stay for other fronts."""
        if "_membership" in vars(self):
            self._membership.close()
