"""What the server says of itself."""

import shutil
from pathlib import Path

import pytest

from app.settings import Settings
from indexer.catalog.schema import upgrade
from tests.integration.http.conftest import build

SEARCH = {"collection": "sample", "text": "cancel"}


def test_live_and_ready(client) -> None:
    assert client.get("/health/live").json() == {"status": "live"}
    ready = client.get("/health/ready")
    assert ready.status_code == 200
    assert ready.json() == {
        "status": "ready",
        "checks": {"database": {"ok": True}, "encoder": {"ok": True}},
        "damaged_segments": 0,
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
    assert "sample" not in figures


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
