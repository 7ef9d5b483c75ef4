"""Connections to Ray, and the actors on its nodes: found by name, or started."""

import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

import ray
from ray._private import worker
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from indexer.errors import ExecutorUnavailable
from spanseek_ray.settings import LOCAL, ClusterOptions
from spanseek_ray.transport import GROUPS, PackedActor

# Of a cluster of this process alone; nothing large passes its object store.
_OBJECT_STORE_BYTES: Final = 2**27
# Ray says on standard output what becomes of nodes, without an option for that; the answer of a command stands there.
_SAID: Final = worker.print_to_stdstream
# Views that an actor holds: about 16 mappings each, of 65,530 that Linux allows a process.
_VIEWS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an actor: its name, its node and the number of its threads."""

    name: str
    node_id: str
    node: str
    threads: int


def connect(options: ClusterOptions) -> bool:
    """Join a running cluster, or start one for this process; True if the caller must leave it at the end.

    Raises ``ExecutorUnavailable``.
    """
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    worker.print_to_stdstream = _said_on_stderr
    alone: dict[str, Any] = {"object_store_memory": _OBJECT_STORE_BYTES, "include_dashboard": False}
    try:
        ray.init(
            address=options.address,
            namespace=options.namespace,
            log_to_driver=False,
            configure_logging=False,
            **(alone if options.address == LOCAL else {}),
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ExecutorUnavailable(
            f"There is no Ray cluster at {options.address!r}: {error}",
            hint="Start one with `ray start --head`, or set SPANSEEK_RAY_ADDRESS; local starts one in this process.",
        ) from error
    return True


def _said_on_stderr(data: dict[str, Any], ignore_prefix: bool) -> None:
    _SAID(data | {"is_err": True}, ignore_prefix)


def places(options: ClusterOptions) -> list[Place]:
    """The places of actors: as many as are wanted on every node that is alive and has processors to give."""
    return [
        Place(
            f"segments-{version('spanseek')}-{node['NodeID'][:16]}-{number}",
            node["NodeID"],
            node["NodeManagerAddress"],
            max(1, int(node["Resources"]["CPU"]) // options.actors),
        )
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        for number in range(options.actors)
    ]


def actor_at(place: Place, options: ClusterOptions) -> Any:  # noqa: ANN401
    """Get the actor of a place that another front has started, or start a new one. Ray restarts it if it dies."""
    threads = str(place.threads)
    kernels = {"NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE"}
    actor = ray.remote(num_cpus=0, max_restarts=-1, concurrency_groups=GROUPS)(PackedActor)
    return actor.options(
        name=place.name,
        namespace=options.namespace,
        lifetime="detached",
        get_if_exists=True,
        scheduling_strategy=NodeAffinitySchedulingStrategy(place.node_id, soft=False),
        runtime_env={"env_vars": kernels},
    ).remote(_VIEWS)


@dataclass(frozen=True, slots=True)
class StartedActor:
    """An actor that a front has started."""

    place: Place
    handle: Any


def started(options: ClusterOptions) -> list[StartedActor]:
    """The actors of all nodes, as many as were started."""
    found = []
    for place in places(options):
        with suppress(ValueError):  # none of this name
            found.append(StartedActor(place, ray.get_actor(place.name, namespace=options.namespace)))
    return found


def is_joined() -> bool:
    """True until the process leaves the cluster, also when the cluster does not answer."""
    return bool(ray.is_initialized())


def leave() -> None:
    """Leave the cluster, and end it if it is this process's own."""
    ray.shutdown()
