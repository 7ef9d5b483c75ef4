"""The Ray calls that ask actors, in one file, so that everything above it runs on any transport."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import ray
from ray import cloudpickle
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from indexer.engine.executor import Executor
from indexer.engine.warm import warm_up
from spanseek_ray.actor import Asked, Failed, Lacking, SegmentActor
from spanseek_ray.shipment import Shipment, ViewKey

# Threads of an actor besides that of searches: of passes over everything, of opening, and of what waits for none.
GROUPS: Final = {"bulk": 1, "opening": 4, "control": 1}
# A call that has not returned.
Ref: TypeAlias = Any


class Unanswered(Exception):
    """An actor, its node or the connection to it failed: another actor may answer."""


class PackedActor(SegmentActor):
    """A segment actor whose requests are pickled once for all actors, and whose arrays arrive unchanged."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        warm_up(Executor())

    def ask_packed(self, front: str, keys: Sequence[ViewKey], asked: bytes) -> bytes:
        """Answer a pickled step with a pickled answer."""
        return cloudpickle.dumps(self.ask(front, keys, cloudpickle.loads(asked)))


def packed(asked: Asked) -> bytes:
    """A step as it is sent to every actor."""
    return cloudpickle.dumps(asked)


def ask(handle: Any, front: str, keys: Sequence[ViewKey], asked: bytes, *, bulk: bool) -> Ref:  # noqa: ANN401
    """Send a step to an actor, to its thread for searches or to that for passes over everything."""
    method = handle.ask_packed.options(concurrency_group="bulk") if bulk else handle.ask_packed
    return method.remote(front, keys, asked)


def hold(handle: Any, shipments: Sequence[Shipment]) -> Ref:  # noqa: ANN401
    """Have an actor open views."""
    return handle.hold.options(concurrency_group="opening").remote(shipments)


def figures(handle: Any) -> Ref:  # noqa: ANN401
    """Ask an actor for its figures."""
    return handle.figures.options(concurrency_group="control").remote()


def probe(handle: Any) -> Ref:  # noqa: ANN401
    """Start a call that returns once an actor has answered all search steps sent before."""
    return handle.probe.remote()


def drain(handle: Any, draining: bool) -> Ref:  # noqa: ANN401
    """Have an actor report that it is draining, or no longer."""
    return handle.drain.options(concurrency_group="control").remote(draining)


def first_done(refs: Sequence[Ref], seconds: float) -> list[Ref]:
    """The calls that have returned, at least one unless the time is up."""
    done, _ = ray.wait(list(refs), num_returns=1, timeout=seconds)
    return list(done)


def all_done(refs: Sequence[Ref], seconds: float) -> list[Any] | None:
    """The results of all calls; None if some took longer, or failed."""
    try:
        return list(ray.get(list(refs), timeout=seconds))
    except (GetTimeoutError, RayError):
        return None


def result(ref: Ref, seconds: float | None = None) -> Any:  # noqa: ANN401
    """The result of a call. Raises ``Unanswered``, and what the call itself raised."""
    try:
        return ray.get(ref, timeout=seconds)
    except RayTaskError as error:
        raise error.as_instanceof_cause() from None
    except (GetTimeoutError, RayError) as error:
        raise Unanswered(str(error)) from error


def unpacked(answer: bytes) -> list[Any] | Lacking | Failed:
    """The answer of an actor to a step."""
    return cloudpickle.loads(answer)
