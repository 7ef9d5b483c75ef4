"""Actors of a cluster that die, stall and forget as a test says, in this process, with a clock that leaps."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from indexer.engine.views import SegmentView
from spanseek_ray.actor import Asked, SegmentActor
from spanseek_ray.executor import RayExecutor
from spanseek_ray.peers import Peer, Peers, State
from spanseek_ray.settings import ClusterOptions
from spanseek_ray.shipment import Shipment, ViewKey
from spanseek_ray.transport import Unanswered


@dataclass(eq=False)
class FakeHandle:
    """An actor. ``fate`` says of every call whether it returns, ``"stalls"`` or ``"dies"``; one that died is new."""

    fate: Callable[[], str] = lambda: "returns"
    actor: SegmentActor = field(default_factory=lambda: SegmentActor(100))
    calls: int = 0

    def call(self, work: Callable[[SegmentActor], Any]) -> "FakeRef":
        self.calls += 1
        fate = self.fate()
        if fate == "dies":
            self.actor = SegmentActor(100)
        return FakeRef(fate, work(self.actor) if fate == "returns" else None)


@dataclass(frozen=True, eq=False)
class FakeRef:
    fate: str
    value: Any


class FakeTransport:
    """Stands for the module ``spanseek_ray.transport``, and for ``time``: a wait for what stalls lets time pass."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def packed(self, asked: Asked) -> bytes:
        return pickle.dumps(asked)

    def unpacked(self, answer: Any) -> Any:
        return answer

    def ask(self, handle: FakeHandle, front: str, keys: Sequence[ViewKey], asked: bytes, *, bulk: bool) -> FakeRef:
        return handle.call(lambda actor: actor.ask(front, keys, pickle.loads(asked)))

    def hold(self, handle: FakeHandle, shipments: Sequence[Shipment]) -> FakeRef:
        return handle.call(lambda actor: actor.hold(shipments))

    def first_done(self, refs: Sequence[FakeRef], seconds: float) -> list[FakeRef]:
        for ref in refs:
            if ref.fate != "stalls":
                return [ref]
        self.now += max(seconds, 0.001)
        return []

    def all_done(self, refs: Sequence[FakeRef], seconds: float) -> list[Any] | None:
        return [ref.value for ref in refs] if all(ref.fate == "returns" for ref in refs) else None

    def result(self, ref: FakeRef, seconds: float | None = None) -> Any:
        if ref.fate == "dies":
            raise Unanswered("it died")
        return ref.value


class FakeCluster(RayExecutor):
    """The executor over actors in this process."""

    def __init__(
        self,
        *handles: FakeHandle,
        replicas: int = 2,
        queue: int = 64,
        ship: Callable[[SegmentView], Shipment] = Shipment.of,
    ) -> None:
        super().__init__(ClusterOptions(replicas=replicas, queue=queue), ship)
        for number, handle in enumerate(handles):
            self._peers.add(Peer(f"actor-{number}", "here", handle, State.READY))

    @property
    def peers(self) -> Peers:
        return self._peers

    def prepare(self, views: Iterable[SegmentView]) -> None:
        pass

    def _watched(self) -> Peers:
        return self._peers
