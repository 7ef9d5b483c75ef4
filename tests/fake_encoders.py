"""Encoder actors in this process, which die as a test says, and return in the order that it says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from models.errors import SpanseekError
from spanseek_ray import encoder_pool
from spanseek_ray.actor import Failed
from spanseek_ray.encoder_actors import Crew, EncoderActor, Worker
from spanseek_ray.transport import Unanswered

# What becomes of a call: it returns, or its actor dies before the work or when it is done.
Fate = Literal["returns", "dies", "dies when done"]


@dataclass(eq=False)
class FakeActor:
    make: Callable[[], Worker]
    is_alive: bool = True
    calls: list["FakeCall"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.actor = EncoderActor(b"")

    def start(self) -> Failed | None:
        """Make its worker, which need not be picklable here."""
        try:
            self.actor._worker = self.make()
        except SpanseekError as error:
            return Failed(error)
        return None


@dataclass(eq=False)
class FakeCall:
    handle: FakeActor
    work: Callable[[], Any]
    is_done: bool = False
    value: Any = None


class FakeEncoders:
    """Stands for the modules ``encoder_actors``, ``transport`` and ``ray_nodes`` of the pool."""

    def __init__(
        self,
        count: int,
        *,
        fate: Callable[[], Fate] = lambda: "returns",
        starts: Callable[[], Fate] = lambda: "returns",
        choose: Callable[[int], int] = lambda calls: 0,
    ) -> None:
        self.count, self.fate, self.starts, self.choose = count, fate, starts, choose
        self.actors: list[FakeActor] = []
        self.names: list[str] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> "FakeEncoders":
        for module in ("encoder_actors", "transport", "ray_nodes"):
            monkeypatch.setattr(encoder_pool, module, self)
        return self

    @property
    def alive(self) -> list[FakeActor]:
        return [actor for actor in self.actors if actor.is_alive]

    def connect(self, options: Any) -> bool:
        return True

    def crew(self, options: Any, *, by_gpu: bool) -> Crew:
        return Crew(self.count, by_gpu)

    def new_actor(self, make: Callable[[], Worker], on_gpu: bool) -> tuple[FakeActor, FakeCall]:
        actor = FakeActor(make)
        self.actors.append(actor)
        return actor, self._called(actor, actor.start)

    def encode(self, actor: FakeActor, name: str, documents: Sequence[Any]) -> FakeCall:
        self.names.append(name)
        call = self._called(actor, lambda: actor.actor.encode(name, documents))
        assert sum(not each.is_done for each in actor.calls) <= 2
        return call

    def end(self, actor: FakeActor) -> None:
        actor.is_alive = False

    def first_done(self, calls: Sequence[FakeCall], seconds: float) -> list[FakeCall]:
        return [calls[self.choose(len(calls))]]

    def result(self, call: FakeCall) -> Any:
        is_start = call is call.handle.calls[0]
        fate = self.starts() if is_start else self.fate()
        if call.handle.is_alive and fate != "dies":
            call.value = call.work()
        call.is_done = True
        if fate != "returns" or not call.handle.is_alive:
            call.handle.is_alive = False
            raise Unanswered("it died")
        return call.value

    def _called(self, actor: FakeActor, work: Callable[[], Any]) -> FakeCall:
        call = FakeCall(actor, work)
        actor.calls.append(call)
        return call
