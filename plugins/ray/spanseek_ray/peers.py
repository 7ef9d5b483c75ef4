"""The actors of a cluster as one front knows them: what they hold, whether they answer, and how fast."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Condition
from typing import Any

from indexer.engine.member import Member
from indexer.errors import ClusterBusy
from indexer.segments.manifest import SegmentKey
from models.errors import SpanseekError
from spanseek_ray.actor import Figures
from spanseek_ray.placement import ranked
from spanseek_ray.recent_times import RecentTimes
from spanseek_ray.shipment import Shipment, ViewKey


class State(StrEnum):
    """The state of an actor. It is asked once it holds its share, and not while it does not answer or is drained."""

    JOINING = "joining"
    READY = "ready"
    OUT = "out"
    DRAINED = "drained"


@dataclass(eq=False, slots=True)
class Peer:
    """An actor: ``handle`` is its Ray handle, ``held`` the views that it reported, ``seen`` its last sign of life."""

    name: str
    node: str
    handle: Any
    state: State = State.JOINING
    held: set[ViewKey] = field(default_factory=set)
    times: RecentTimes = field(default_factory=RecentTimes)
    figures: Figures = field(default_factory=Figures)
    waiting: int = 0
    hedged: int = 0
    failed: int = 0
    seen: float = 0.0

    @property
    def member(self) -> Member:
        """The actor as an operator sees it."""
        of = self.figures
        return Member(
            self.name,
            self.node,
            self.state.value,
            of.segments,
            of.units,
            self.waiting,
            of.answered,
            self.hedged,
            self.failed,
            self.times.median(),
            of.idle_s,
        )


class Peers:
    """All actors, and the segments that none of them could be asked for. Safe to share between threads.

    ``reach`` grows with every segment that is lost or found again.
    """

    def __init__(self, replicas: int, queue: int) -> None:
        self.replicas = replicas
        self.reach = 0
        self._queue = queue
        self._peers: dict[str, Peer] = {}
        self._missing: dict[SegmentKey, tuple[SpanseekError, Shipment]] = {}
        self._changed = Condition()

    def __iter__(self) -> Any:  # noqa: ANN401
        return iter(tuple(self._peers.values()))

    @property
    def ready(self) -> tuple[Peer, ...]:
        """The actors that are asked."""
        return tuple(peer for peer in self if peer.state is State.READY)

    def silent(self, seconds: float) -> list[Peer]:
        """The ready actors last seen more than ``seconds`` before the newest one: their nodes may be cut off.

        If all actors are silent, this process or its network was late.
        """
        newest = max((peer.seen for peer in self), default=0.0)
        return [peer for peer in self.ready if peer.seen < newest - seconds]

    def add(self, peer: Peer) -> None:
        """Add an actor, which is not asked before it :meth:`enter`\\ s."""
        self._peers[peer.name] = peer

    def remove(self, names: Iterable[str]) -> None:
        """Forget actors of nodes that have left."""
        for name in names:
            self._peers.pop(name).state = State.OUT

    def enter(self, peer: Peer, state: State = State.READY) -> None:
        """Set the state of an actor: from now on it is asked, or no longer."""
        with self._changed:
            peer.state = state
            self._changed.notify_all()

    def lose(self, peer: Peer) -> None:
        """Do not ask an actor that has failed until it answers again."""
        with self._changed:
            peer.failed += 1
            peer.held.clear()
            if peer.state is State.READY:
                peer.state = State.OUT

    def wait(self, seconds: float) -> None:
        """Wait until there is an actor to ask, but no longer than so many seconds."""
        if not self.ready:
            with self._changed:
                self._changed.wait_for(lambda: bool(self.ready), seconds)

    def holders(self, segment: SegmentKey, among: Iterable[Peer]) -> list[Peer]:
        """The actors in ``among`` that should hold a segment, in the order in which they are asked."""
        by_name = {peer.name: peer for peer in among}
        return [by_name[name] for name in ranked(segment.manifest_sha256, tuple(by_name))[: self.replicas]]

    def choose(self, shipment: Shipment, key: ViewKey, among: Iterable[Peer]) -> Peer | None:
        """The actor to ask for a view: the least busy one that holds it, else the first that should; None without any.

        Raises ``ClusterBusy`` if the queues of all are full.
        """
        holders = self.holders(shipment.segment, among)
        if not holders:
            return None
        warm = (peer for peer in holders if key in peer.held)
        peer = min(warm, key=lambda each: each.waiting, default=holders[0])
        if peer.waiting >= self._queue:
            raise ClusterBusy(
                f"{peer.waiting} requests wait for each actor that holds a segment.",
                hint="Send fewer at once, or retry later; SPANSEEK_RAY_QUEUE says how many may wait.",
            )
        return peer

    def miss(self, shipments: Iterable[Shipment], error: SpanseekError) -> None:
        """Leave segments out of snapshots until they are :meth:`found`."""
        with self._changed:
            self._missing |= {shipment.segment: (error, shipment) for shipment in shipments}
            self.reach += 1

    def found(self, shipment: Shipment) -> None:
        """Record that an actor can be asked for a segment again."""
        with self._changed:
            if self._missing.pop(shipment.segment, None):
                self.reach += 1

    @property
    def missing(self) -> list[Shipment]:
        """The segments that were lost, and not found again."""
        return [shipment for _, shipment in tuple(self._missing.values())]

    def unreachable(self, segment: SegmentKey) -> SpanseekError | None:
        """The reason why no actor can be asked for a segment; None if one can."""
        error, _ = self._missing.get(segment, (None, None))
        return error
