"""``/admin/cluster``: the processes that read segments for this server, as it knows them."""

from dataclasses import dataclass
from typing import Annotated

from starlette.responses import Response

from app.answers import described
from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from models.fields import converted

router = api_router(prefix="/admin/cluster", tags=["admin"], responses=problems(401, 403))


@dataclass(frozen=True, slots=True)
class Actor:
    """An actor, as this server saw it last."""

    name: str
    node: Annotated[str, described("The address of its node.")]
    state: Annotated[str, described("`joining`, `ready`, `out` or `drained`: only ready ones are asked.")]
    segments: Annotated[int, described("Segments that it holds.")]
    units: Annotated[int, described("Units of these segments.")]
    waiting: Annotated[int, described("Requests of this server that it has not answered.")]
    answered: Annotated[int, described("Requests of all servers that it has answered since it started.")]
    hedged: Annotated[int, described("Late requests of this server that a second actor was asked for.")]
    failed: Annotated[int, described("Times that it did not answer this server.")]
    seconds: Annotated[float, described("Median time of its recent answers to this server; 0 before the first.")]
    idle_s: Annotated[float | None, described("Seconds since a server asked it last; null if none ever did.")]


@dataclass(frozen=True, slots=True)
class ClusterState:
    """State of the cluster that reads the segments of collections, as this server sees it."""

    executor: Annotated[str, described("The executor's name, such as `candidates`, or `ray` on a cluster.")]
    unreachable_segments: Annotated[int, described("Segments that no actor can be asked for; answers lack them.")]
    actors: Annotated[tuple[Actor, ...], described("By node and name; none where the server itself reads.")]


@router.get("", response_model=ClusterState, summary="Show the cluster")
def show_cluster(caller: CallerDependency) -> Response:
    """Return the state of the cluster that this server saw at most half a second ago. It asks no actor for it."""
    caller.require_everything()
    executor = caller.backend.executor
    actors = (converted(each, Actor) for each in executor.members())
    ordered = sorted(actors, key=lambda each: (each.node, each.name))
    return answer_response(ClusterState(executor.name, executor.unreachable_segments, tuple(ordered)))
