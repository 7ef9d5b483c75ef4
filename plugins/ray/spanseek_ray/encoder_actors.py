"""Encoder actors, and the Ray calls that start them, send them documents and end them."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import ray
from ray import cloudpickle
from ray.exceptions import RayError

from models.errors import SpanseekError
from spanseek_ray.actor import Failed
from spanseek_ray.settings import ClusterOptions
from spanseek_ray.transport import Ref

# One thread: an actor for each processor encodes more than one actor with all of them.
_ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
# An actor as Ray knows it.
Handle: TypeAlias = Any


class Worker(Protocol):
    """A segment maker in the process of an encoder actor, which a pickled factory creates there."""

    def steps(self, batches: Iterable[Sequence[Any]], name: str) -> Iterable[Any]:
        """Make a segment of this name from documents, and yield their outcome."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of the documents of a block, and the seconds that the work took."""

    steps: list[Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class Crew:
    """The number of actors that encode, and whether each has a GPU to itself or a processor."""

    count: int
    on_gpu: bool


class EncoderActor:
    """Makes a segment of every block of documents, and writes it to its final place. No vector leaves the actor."""

    def __init__(self, make: bytes) -> None:
        self._make = make
        self._worker: Worker | None = None

    def start(self) -> Failed | None:
        """Load the models; return the error that prevents it, or None."""
        try:
            self._worker = cloudpickle.loads(self._make)()
        except SpanseekError as error:
            return Failed(error)
        return None

    def encode(self, name: str, documents: Sequence[Any]) -> Answer | Failed:
        """Make a segment of this name."""
        begun = time.perf_counter()
        try:
            if self._worker is None:
                raise AssertionError("an actor is asked before it has started")
            steps = list(self._worker.steps([documents], name))
        except SpanseekError as error:
            return Failed(error)
        return Answer(steps, time.perf_counter() - begun)


def crew(options: ClusterOptions, *, by_gpu: bool) -> Crew:
    """The actors of a job: the number in the options, else one for each GPU, else one for each processor."""
    resources = ray.cluster_resources()
    gpus, processors = int(resources.get("GPU", 0)) if by_gpu else 0, int(resources.get("CPU", 0))
    return Crew(options.encoders or gpus or max(processors, 1), gpus > 0)


def new_actor(make: Callable[[], Worker], on_gpu: bool) -> tuple[Handle, Ref]:
    """Start an actor on a node with room; return its handle, and the call that returns when it has started.

    The actor ends with this process. Ray does not restart it: its caller knows which documents are lost with it.
    """
    actor = ray.remote(num_cpus=1, num_gpus=int(on_gpu), max_restarts=0, max_task_retries=0)(EncoderActor)
    environment = {} if on_gpu else {"runtime_env": {"env_vars": _ONE_THREAD}}
    handle = actor.options(scheduling_strategy="SPREAD", **environment).remote(cloudpickle.dumps(make))
    return handle, handle.start.remote()


def encode(handle: Handle, name: str, documents: Sequence[Any]) -> Ref:
    """Send documents to an actor."""
    return handle.encode.remote(name, documents)


def end(handle: Handle) -> None:
    """End an actor; do nothing if it has ended already."""
    with suppress(RayError, ValueError):
        ray.kill(handle)
