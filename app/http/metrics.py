"""``/metrics`` for Prometheus: routes, statuses and durations; never a name, a key or a text."""

import threading
from collections.abc import Callable, Iterator, Mapping

from fastapi import APIRouter, Request
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse, Response

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

router = APIRouter(tags=["health"])


@router.get("/metrics", response_class=PlainTextResponse, summary="Figures for Prometheus")
async def metrics(request: Request) -> Response:
    """Requests by route and status, their durations, and the number of waiting ones."""
    figures: Metrics = request.app.state.metrics
    return Response(generate_latest(figures.registry), media_type=CONTENT_TYPE_LATEST)


class Metrics:
    """The metrics of one application, in a registry of its own."""

    def __init__(
        self,
        waiting: Callable[[], Mapping[str, int]],
        damaged_segments: Callable[[], int],
        tasks: Callable[[], Mapping[str, tuple[int, int]]] = dict,
    ) -> None:
        self.registry = CollectorRegistry()
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

    def __init__(self, tasks: Callable[[], Mapping[str, tuple[int, int]]]) -> None:
        self._tasks = tasks

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Their number and the bytes that they hold, by status."""
        count = GaugeMetricFamily("spanseek_tasks", "Tasks that have not ended, by status.", labels=["status"])
        size = GaugeMetricFamily("spanseek_task_bytes", "Bytes that they hold, by status.", labels=["status"])
        for status, (number, held) in self._tasks().items():
            count.add_metric([status], number)
            size.add_metric([status], held)
        yield from (count, size)
