"""An operator's view of the actors of a cluster, and his commands to them, without being one of its fronts."""

from dataclasses import dataclass
from typing import Final

from models.errors import InvalidInput
from spanseek_ray import ray_nodes, transport
from spanseek_ray.settings import ClusterOptions
from spanseek_ray.transport import Unanswered

# Seconds in which an actor answers an operator.
_PATIENCE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class ActorStatus:
    """An actor as it says itself. ``idle_s`` is the time since a front asked it last: None if none ever did."""

    name: str
    node: str
    state: str
    segments: int = 0
    units: int = 0
    answered: int = 0
    idle_s: float | None = None


def status(options: ClusterOptions) -> list[ActorStatus]:
    """The actors of all nodes that are alive. Those that fronts have not started yet are missing."""
    joined = ray_nodes.connect(options)
    try:
        return [_status(actor) for actor in ray_nodes.started(options)]
    finally:
        if joined:
            ray_nodes.leave()


def drain(options: ClusterOptions, name: str, *, draining: bool = True) -> list[str]:
    """Have fronts place nothing on a node or an actor, or place there again; return the names of its actors.

    ``name`` is the actor's name or the node's address. Raises ``InvalidInput`` if there is none.
    """
    joined = ray_nodes.connect(options)
    try:
        chosen = [each for each in ray_nodes.started(options) if name in (each.place.name, each.place.node)]
        if not chosen:
            raise InvalidInput(f"The cluster has no actor of {name!r}.", hint="`spanseek cluster status` lists them.")
        for actor in chosen:
            transport.result(transport.drain(actor.handle, draining), _PATIENCE_S)
        return [actor.place.name for actor in chosen]
    except Unanswered as error:
        raise InvalidInput(f"{name} does not answer: {error}", hint="Fronts ask it no more until it does.") from error
    finally:
        if joined:
            ray_nodes.leave()


def _status(actor: ray_nodes.StartedActor) -> ActorStatus:
    name, node = actor.place.name, actor.place.node
    try:
        figures = transport.result(transport.figures(actor.handle), _PATIENCE_S)
    except Unanswered:
        return ActorStatus(name, node, "out")
    state = "draining" if figures.draining else "ready"
    return ActorStatus(name, node, state, figures.segments, figures.units, figures.answered, figures.idle_s)
