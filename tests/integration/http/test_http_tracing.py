"""Traces: spans of requests and stages, their parents, and what they never hold."""

import json
import sys

import pytest

from app.http.app import create_app
from app.http.tracing import Tracing
from models.errors import InvalidInput
from tests.integration.http.conftest import Client

memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exporter():
    return memory.InMemorySpanExporter()


def test_a_search_has_a_span_with_its_stages_below(settings, exporter) -> None:
    client = Client(settings)
    client.app = create_app(settings, tracing=Tracing(exporter))
    with client:
        client.headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        client.search(text="confidential phrase")
        client.headers = {}
        client.post("/collections/sample/documents", {"id": "secret-id", "text": "confidential text"})
        client.get("/collections/sample/documents/contract-1")
        client.get("/collections/hidden-name")
    ended = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    requests = [span for span in ended if span["kind"] == "SpanKind.SERVER"]
    assert [(span["name"], span["attributes"]["http.response.status_code"]) for span in requests] == [
        ("POST /search", 200),
        ("POST /collections/{collection}/documents", 200),
        ("GET /collections/{collection}/documents/{document_id:id}", 200),
        ("GET /collections/{collection}", 404),
    ]
    search, write = requests[:2]
    assert (search["context"]["trace_id"], search["parent_id"]) == (f"0x{TRACE}", f"0x{PARENT}")
    assert stages(ended, search) == ["queue", "encode", "queue", "scan", "fetch"]
    assert stages(ended, write) == ["queue", "write"]
    assert write["context"]["trace_id"] != search["context"]["trace_id"]
    for stage in (span for span in ended if span["parent_id"] == search["context"]["span_id"]):
        assert search["start_time"] <= stage["start_time"] <= stage["end_time"] <= search["end_time"]
    assert not any(word in str(ended) for word in ("confidential", "secret-id", "contract-1", "hidden-name", "cancel"))
    assert {key for span in ended for key in span["attributes"]} == {
        "http.request.method",
        "http.route",
        "http.response.status_code",
    }


def stages(ended: list[dict], request: dict) -> list[str]:
    """The names of the spans below a request, in the order of their ends."""
    return [span["name"] for span in ended if span["parent_id"] == request["context"]["span_id"]]


def test_it_is_off_unless_the_setting_is_on(settings, monkeypatch) -> None:
    monkeypatch.setattr(Tracing, "load", lambda: pytest.fail("traces are made"))
    create_app(settings)


def test_without_the_extra_it_says_what_to_install(settings, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(InvalidInput, match="OpenTelemetry is not installed") as refused:
        create_app(settings.model_copy(update={"telemetry": True}))
    assert "spanseek[telemetry]" in refused.value.hint


def test_the_setting_exports_over_http(settings, monkeypatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.invalid:4318")
    tracing = Tracing.load()
    (processor,) = tracing.provider._active_span_processor._span_processors
    assert processor.span_exporter._endpoint == "http://collector.invalid:4318/v1/traces"
    assert tracing.provider.resource.attributes["service.name"] == "spanseek"
    tracing.close()
