"""``/metrics``: figures for Prometheus. Routes, statuses and times; never a name, a key or a text."""

import time
from collections.abc import Callable, Iterator, Mapping

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

router = APIRouter(tags=["health"])


@router.get("/metrics", response_class=PlainTextResponse, summary="Figures for Prometheus")
def metrics(request: Request) -> Response:
    """Requests by route and status, how long they took, and how many wait."""
    found: Metrics = request.app.state.metrics
    return Response(generate_latest(found.registry), media_type=CONTENT_TYPE_LATEST)


class Metrics:
    """The figures of one application, in a registry of its own."""

    def __init__(self, waiting: Callable[[], Mapping[str, int]]) -> None:
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
        self.registry.register(_Waiting(waiting))


class _Waiting(Collector):
    """Asked for when the figures are, so that nothing has to keep it up to date."""

    def __init__(self, waiting: Callable[[], Mapping[str, int]]) -> None:
        self._waiting = waiting

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """How many requests wait in every lane."""
        family = GaugeMetricFamily("spanseek_requests_waiting", "Requests that wait, by lane.", labels=["lane"])
        for lane, count in self._waiting().items():
            family.add_metric([lane], count)
        yield family


class Measure:
    """ASGI middleware that counts and times requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and look at the clock."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            method, route = _labels(scope)
            self.metrics.requests.labels(method, route, status).inc()
            self.metrics.seconds.labels(method, route).observe(time.perf_counter() - started)


def _labels(scope: Scope) -> tuple[str, str]:
    """Method and path template. What is neither shares a label: callers can think of endlessly many."""
    route = scope.get("route")
    method = scope["method"] if scope["method"] in _METHODS else "other"
    return (method, route.path) if route is not None else (method, "none")
