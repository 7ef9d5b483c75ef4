"""Traces by OpenTelemetry, which the extra ``telemetry`` installs: a span for each request and for each of its stages.

Attributes are the method, the route and the status. Texts, phrases, names, ids and keys never become attributes.
"""

import os
import time
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.middleware import labels
from app.http.stages import Stage
from models.errors import InvalidInput

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter


class Tracing:
    """Makes spans and exports them in the background. ``OTEL_`` variables set the address, the sampler and the name."""

    def __init__(self, exporter: "SpanExporter") -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        name = os.environ.get("OTEL_SERVICE_NAME", "spanseek")
        self.provider = TracerProvider(resource=Resource.create({"service.name": name}))
        self.provider.add_span_processor(BatchSpanProcessor(exporter))
        self.tracer = self.provider.get_tracer("spanseek")

    @classmethod
    def load(cls) -> "Tracing":
        """Tracing to the collector of ``OTEL_EXPORTER_OTLP_ENDPOINT``. Raises ``InvalidInput`` without the extra."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ImportError as error:
            raise InvalidInput(
                "SPANSEEK_TELEMETRY is on, but OpenTelemetry is not installed.",
                hint="Install it with `pip install 'spanseek[telemetry]'`, or turn the setting off.",
                field="telemetry",
            ) from error
        return cls(OTLPSpanExporter())

    def observe(self, stage: Stage, seconds: float) -> None:
        """Add a span of a stage that ends now, below the request in whose context this is called."""
        end = time.time_ns()
        self.tracer.start_span(stage, start_time=end - round(seconds * 1e9)).end(end)

    def close(self) -> None:
        """Export the last spans, and stop."""
        self.provider.shutdown()


class TracingMiddleware:
    """Makes the span of a request, below the span of the caller's header ``traceparent``."""

    def __init__(self, app: ASGIApp, tracing: Tracing) -> None:
        self.app = app
        self.tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with its span as the current one."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract(Headers(scope=scope))
        with self.tracing.tracer.start_as_current_span(
            "request", parent, kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:

            async def send_and_note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            try:
                await self.app(scope, receive, send_and_note)
            finally:
                method, route = labels(scope)
                span.update_name(f"{method} {route}")
                span.set_attributes({"http.request.method": method, "http.route": route})
