"""What the server says of itself."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.http.auth import AnonymousAccess
from app.settings import Settings
from indexer.ann.candidates import CandidateExecutor
from indexer.catalog.schema import upgrade
from indexer.engine.executor import Executor
from indexer.engine.member import Member
from tests.integration.http.conftest import build
from tests.materialized import MaterializedExecutor

SEARCH = {"collection": "sample", "text": "cancel"}


class Clustered(Executor):
    """An executor with an actor."""

    def members(self) -> Sequence[Member]:
        return (Member("segments-a", "10.0.0.7", "ready"),)


@pytest.mark.smoke
def test_live_and_ready(start, settings) -> None:
    client = start(settings, CandidateExecutor())
    assert client.get("/health/live").json() == {"status": "live"}
    ready = client.get("/health/ready")
    assert ready.status_code == 200
    assert ready.json() == {
        "status": "ready",
        "checks": {"database": {"ok": True}, "encoder": {"ok": True}, "executor": {"ok": True}},
        "damaged_segments": 0,
        "executor": {"name": "candidates", "ready": True, "segments": 0},
    }


def failing(client, problem, check: str, code: str) -> dict:
    """The failing check of a server that lives, is not ready, and says why."""
    assert client.get("/health/live").status_code == 200
    body = problem(client.get("/health/ready"), 503, "not_ready")
    failed = {name: found for name, found in body["checks"].items() if not found["ok"]}
    assert list(failed) == [check]
    assert failed[check]["code"] == code
    assert failed[check]["detail"] in body["detail"]
    assert failed[check]["hint"]
    return failed[check]


@pytest.mark.smoke
def test_a_database_without_tables_until_it_has_them(tmp_path, start, problem) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing")
    client = start(settings)
    assert "init-db" in failing(client, problem, "database", "catalog_not_initialised")["hint"]
    problem(client.post("/search", SEARCH), 503, "catalog_not_initialised")
    problem(client.get("/collections"), 503, "catalog_not_initialised")
    upgrade(settings.catalog_url)
    assert client.get("/health/ready").status_code == 200
    problem(client.post("/search", SEARCH), 404, "collection_not_found")


def test_a_database_that_cannot_be_reached(tmp_path, start, problem) -> None:
    (tmp_path / "file").write_text("no folder")
    client = start(Settings(_env_file=None, data_dir=tmp_path / "file", encoder="hashing"))
    failing(client, problem, "database", "catalog_unavailable")
    problem(client.post("/search", SEARCH), 503, "catalog_unavailable")
    (tmp_path / "file").unlink()
    failing(client, problem, "database", "catalog_not_initialised")


@pytest.mark.parametrize("url", ["oracle://somewhere", "no url at all"])
def test_a_database_url_that_means_nothing(tmp_path, start, problem, url) -> None:
    client = start(Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", database_url=url))
    failing(client, problem, "database", "catalog_unavailable")
    problem(client.post("/search", SEARCH), 503, "catalog_unavailable")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"encoder": "untrained", "backbone": "/no/such/folder"}, "backbone_missing"),
        ({"encoder": "slice", "weights": Path("/no/such/folder")}, "backbone_missing"),
        ({"encoder": "no-such"}, "unknown_encoder"),
    ],
)
def test_a_model_that_is_missing(settings, start, problem, changes, code) -> None:
    client = start(settings.model_copy(update=changes))
    failing(client, problem, "encoder", code)


def test_an_executor_that_holds_segments(settings, start) -> None:
    client = start(settings, MaterializedExecutor())
    held = client.get("/health/ready").json()["executor"]
    client.search(text="cancel")
    assert client.get("/health/ready").json()["executor"] == held | {"segments": held["segments"] + 1}


def test_an_executor_that_is_lost(settings, start, problem) -> None:
    class Lost(Executor):
        def health(self) -> str:
            return "The device is lost."

    client = start(settings, Lost())
    assert failing(client, problem, "executor", "executor_unavailable")["detail"] == "The device is lost."
    assert client.get("/health/ready").json()["executor"] == {"name": "local", "ready": False, "segments": 0}


def test_segments_that_are_missing(settings, start, problem) -> None:
    shutil.rmtree(settings.data_dir / "collections")
    problem(start(settings).post("/search", SEARCH), 500, "segment_corrupt")


def test_metrics_count_routes_and_not_paths(settings, start) -> None:
    client = start(settings)
    client.search(text="cancel")
    client.get("/collections/sample")
    client.get("/collections/sample-2")
    client.get("/unheard/of")
    figures = client.get("/metrics").text
    for line in (
        'spanseek_requests_total{method="POST",route="/search",status="200"} 1.0',
        'spanseek_requests_total{method="GET",route="/collections/{collection}",status="200"} 1.0',
        'spanseek_requests_total{method="GET",route="/collections/{collection}",status="404"} 1.0',
        'spanseek_requests_total{method="GET",route="none",status="404"} 1.0',
        'spanseek_request_seconds_count{method="POST",route="/search"} 1.0',
        *(f'spanseek_requests_waiting{{lane="{lane}"}} 0.0' for lane in ("encode", "scan", "write", "tune")),
    ):
        assert line in figures.splitlines()
    assert "sample-2" not in figures


def test_stages_and_collections_are_measured(settings, start, make_key) -> None:
    client = start(settings)
    for text in ("cancel", "parcel", "router"):
        client.search(text=text)
    client.post("/collections/sample/documents", {"id": "new", "text": "a parcel"})
    client.post("/collections/sample/documents", {"id": "contract-1", "text": "a parcel"})
    client.app.state.backend.refresh()
    counts, sums = _values(client, "seconds_count"), _values(client, "seconds_sum")
    assert [counts[f"spanseek_{stage}_seconds_count"] for stage in ("encode", "scan", "fetch", "write")] == [3, 3, 3, 2]
    assert counts["spanseek_queue_seconds_count"] == 3 + 3 + 2
    assert all(sums[f"spanseek_{stage}_seconds_sum"] > 0 for stage in ("queue", "encode", "scan", "fetch", "write"))
    description = client.get("/collections/sample").json()
    sizes = _values(client, 'collection="sample"')
    for size in ("documents", "units", "generation"):
        assert sizes[f'spanseek_collection_{size}{{collection="sample"}}'] == description[size]
    largest = max(segment.info.units for segment in
                  client.app.state.backend.store.catalog.live_generation("sample").segments)  # fmt: skip
    assert sizes['spanseek_collection_unmerged_units{collection="sample"}'] == description["units"] - largest > 0


def test_collections_are_named_to_those_who_may_search_them(settings, start, make_key) -> None:
    client, token = start(settings), make_key("search")
    elsewhere, writer = make_key("search", collections=["other"]), make_key("index")
    client.app.state.anonymous_access = AnonymousAccess()
    for headers in ({}, *({"Authorization": f"Bearer {each}"} for each in ("wrong", elsewhere, writer))):
        client.headers = headers
        assert "spanseek_encode_seconds_count" in client.get("/metrics").text
        assert not _values(client, "sample")
    client.headers = {"Authorization": f"Bearer {token}"}
    assert _values(client, "sample")['spanseek_collection_documents{collection="sample"}'] == 43


def test_the_dashboard_draws_metrics_that_exist(settings, start) -> None:
    """Every metric that a query names is exported, and every metric of ours that is exported is drawn."""
    client = start(settings, Clustered())
    client.get("/health/live")
    text = client.get("/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    exported = families.keys() | {sample.name for family in families.values() for sample in family.samples}
    dashboard = json.loads(Path("docs/grafana.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    drawn = {name for query in queries for name in re.findall(r"(?:spanseek|process)_\w+", query)}
    assert drawn <= exported
    for name in families:
        if name.startswith("spanseek_") and not name.endswith("_created"):
            assert any(each.startswith(name) for each in drawn), name


def _values(client, part: str) -> dict[str, float]:
    """The samples with this part in their names or labels."""
    lines = client.get("/metrics").text.splitlines()
    samples = [line.rpartition(" ") for line in lines if part in line and not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def test_metrics_are_not_at_the_mercy_of_callers(settings, start) -> None:
    client = start(settings)
    for path in ("/search", "/unheard/of"):
        client.run(client.http.request("BREW", path))
    assert "BREW" not in client.get("/metrics").text


def test_every_application_has_figures_of_its_own(settings, start) -> None:
    start(settings).get("/health/live")
    assert "/health/live" not in start(settings).get("/metrics").text


def test_a_damaged_segment_is_counted_and_described(tmp_path, start, problem) -> None:
    settings = build(tmp_path)
    client = start(settings)
    assert "degraded" not in client.get("/collections/sample").json()
    (path,) = tmp_path.glob("collections/*/*/scales.f32")
    path.write_bytes(bytes(path.stat().st_size))
    problem(client.post("/search", SEARCH), 500, "segment_corrupt")
    assert client.get("/health/ready").json()["damaged_segments"] == 1
    assert "spanseek_damaged_segments 1.0" in client.get("/metrics").text
    (damage,) = client.get("/collections/sample").json()["degraded"]
    assert "scales.f32" in damage
