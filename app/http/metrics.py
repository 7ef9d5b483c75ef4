"""``/metrics`` for Prometheus: routes, statuses, durations and collections; never a key or a text.

Figures of collections name them, so a caller gets figures of the collections that it may search.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import get_args

from fastapi import Request
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse, Response

from app.http.auth import bearer, caller
from app.http.openapi import api_router
from app.http.stages import Stage
from indexer.catalog.tasks import Backlog
from indexer.engine.member import Member
from indexer.types import Collection
from models.errors import SpanseekError

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
# The number of collections with figures of their own, the largest first.
_COLLECTIONS = 100
# A scrape waits no longer for the catalog to look up its key.
_KEY_S = 2.0
_STAGES: Mapping[Stage, str] = {
    "queue": "Time that a search or a write waits before a stage begins.",
    "encode": "Time in which a search's query is encoded, together with its batch.",
    "scan": "Time in which a search's collection is scanned, together with its batch.",
    "verify": "Time in which a search's best hits are read beside its phrase, together with its batch.",
    "fetch": "Time in which texts and metadata of a search's hits are read.",
    "write": "Time in which a write of a request is encoded and published.",
}
_SIZES: Mapping[str, tuple[str, Callable[[Collection], int]]] = {
    "documents": ("Live documents.", lambda collection: collection.documents),
    "units": ("Stored units, deleted documents included.", lambda collection: collection.units),
    "generation": ("The newest generation.", lambda collection: collection.generation),
    "unmerged_units": ("Units outside the largest segment.", lambda collection: collection.unmerged),
}

_ACTOR = ("actor", "node")
_FIGURES: Mapping[str, tuple[str, Callable[[Member], float]]] = {
    "segments": ("Segments that an actor holds.", lambda member: member.segments),
    "units": ("Units of the segments that an actor holds.", lambda member: member.units),
    "waiting": ("Requests of this server that an actor has not answered.", lambda member: member.waiting),
    "answered": ("Requests that an actor has answered since it started.", lambda member: member.answered),
    "hedged": ("Late requests of this server that a second actor was asked for.", lambda member: member.hedged),
    "failed": ("Times that an actor did not answer this server.", lambda member: member.failed),
    "seconds": ("Median time of an actor's recent answers to this server.", lambda member: member.seconds),
}

# A series of its own for the time at which each one began is of no use to anybody here.
disable_created_metrics()  # type: ignore[no-untyped-call]

router = api_router(tags=["health"])


@router.get("/metrics", response_class=PlainTextResponse, summary="Figures for Prometheus")
async def metrics(request: Request) -> Response:
    """Requests by route and status, the durations of their stages, and the sizes of the collections the key may see."""
    figures: Metrics = request.app.state.metrics
    visible = CollectorRegistry()
    visible.register(_Collections(await _visible(request)))
    return Response(generate_latest(figures.registry) + generate_latest(visible), media_type=CONTENT_TYPE_LATEST)


async def _visible(request: Request) -> list[Collection]:
    """The collections that the caller may search, the largest first; none for an unknown caller, who is not refused."""
    sizes: tuple[Collection, ...] = request.app.state.backend.sizes
    try:
        async with asyncio.timeout(_KEY_S):
            asking = await caller(request, await bearer(request))
    except (SpanseekError, TimeoutError):
        return []
    if asking.reach:  # the figures are those of all documents
        return []
    seen = [each for each in sizes if asking.may("search", each.name)]
    return sorted(seen, key=lambda each: (-each.units, each.name))[:_COLLECTIONS]


class Stages:
    """The durations of the stages of searches and writes."""

    def __init__(self) -> None:
        self.seconds = {
            stage: Histogram(f"spanseek_{stage}_seconds", _STAGES[stage], buckets=_SECONDS, registry=None)
            for stage in get_args(Stage)
        }

    def observe(self, stage: Stage, seconds: float) -> None:
        """Count a stage that took these seconds."""
        self.seconds[stage].observe(seconds)


class Metrics:
    """The metrics of one application, in a registry of its own."""

    def __init__(
        self,
        waiting: Callable[[], Mapping[str, int]],
        damaged_segments: Callable[[], int],
        tasks: Callable[[], Mapping[str, Backlog]] = dict,
        stages: Stages | None = None,
        members: Callable[[], Sequence[Member]] = tuple,
    ) -> None:
        self.registry = CollectorRegistry()
        for histogram in (stages or Stages()).seconds.values():
            self.registry.register(histogram)
        self.requests = Counter(
            "spanseek_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "spanseek_request_seconds",
            "Time from a request's arrival to the end of its answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        threads = Gauge("spanseek_threads", "Python threads of the process.", registry=self.registry)
        threads.set_function(threading.active_count)
        self.registry.register(_Waiting(waiting))
        self.registry.register(_Tasks(tasks))
        damaged = Gauge("spanseek_damaged_segments", "Segments left out of searches.", registry=self.registry)
        damaged.set_function(damaged_segments)
        self.registry.register(_Members(members))


class _Waiting(Collector):
    """Counts waiting requests when it is collected."""

    def __init__(self, waiting: Callable[[], Mapping[str, int]]) -> None:
        self._waiting = waiting

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The number of waiting requests, by lane."""
        family = GaugeMetricFamily("spanseek_requests_waiting", "Requests that wait, by lane.", labels=["lane"])
        for lane, count in self._waiting().items():
            family.add_metric([lane], count)
        yield family


class _Tasks(Collector):
    """The tasks that have not ended, when it is collected."""

    def __init__(self, tasks: Callable[[], Mapping[str, Backlog]]) -> None:
        self._tasks = tasks

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Their number, the bytes that they hold and the age of the oldest, by status."""
        count = GaugeMetricFamily("spanseek_tasks", "Tasks that have not ended, by status.", labels=["status"])
        size = GaugeMetricFamily("spanseek_task_bytes", "Bytes that they hold, by status.", labels=["status"])
        lag = GaugeMetricFamily("spanseek_task_lag_seconds", "Age of the oldest of them, by status.", labels=["status"])
        now = datetime.now(UTC)
        for status, backlog in self._tasks().items():
            count.add_metric([status], backlog.tasks)
            size.add_metric([status], backlog.bytes)
            age = (now - backlog.oldest).total_seconds() if backlog.oldest else 0.0
            lag.add_metric([status], max(age, 0.0))
        yield from (count, size, lag)


class _Members(Collector):
    """The processes that read segments for the executor, when it is collected; none but on a cluster."""

    def __init__(self, members: Callable[[], Sequence[Member]]) -> None:
        self._members = members

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """A family for each figure, with a value for each process."""
        members = self._members()
        if not members:
            return
        state = GaugeMetricFamily("spanseek_actor_state", "1 for the state of an actor.", labels=[*_ACTOR, "state"])
        for member in members:
            state.add_metric([member.name, member.node, member.state], 1)
        yield state
        for name, (description, figure) in _FIGURES.items():
            family = GaugeMetricFamily(f"spanseek_actor_{name}", description, labels=_ACTOR)
            for member in members:
                family.add_metric([member.name, member.node], figure(member))
            yield family


class _Collections(Collector):
    """Sizes of collections."""

    def __init__(self, collections: Iterable[Collection]) -> None:
        self._collections = tuple(collections)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """A family for each size, with a value for each collection."""
        for name, (description, size) in _SIZES.items():
            family = GaugeMetricFamily(f"spanseek_collection_{name}", description, labels=["collection"])
            for collection in self._collections:
                family.add_metric([collection.name], size(collection))
            yield family
