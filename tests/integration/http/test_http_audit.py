"""The audit log: a line for each request, and what it says."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.http.app import create_app
from app.http.audit import AuditLog
from app.http.auth import MOST_NOTED
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import list_keys
from models.errors import InvalidInput
from tests.integration.http.conftest import Client

BODY = {"collection": "sample", "text": "cancel my secret plan"}


class Audited:
    """An application, and the records of its audit log."""

    def __init__(self, client: Client, path: Path) -> None:
        self.client, self.path = client, path

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]

    def last(self) -> dict[str, Any]:
        return self.records()[-1]

    def delete(self, ids: list[str]) -> None:
        request = self.client.http.request("DELETE", "/collections/sample/documents", json={"ids": ids})
        assert self.client.run(request).status_code == 200


@pytest.fixture
def audited(start, settings, tmp_path):
    """``audited(**settings)``: the application, with an audit log."""

    def audited(**changes: object) -> Audited:
        path = tmp_path / "audit.ndjson"
        return Audited(start(settings.model_copy(update={"audit_log": str(path)} | changes)), path)

    return audited


@pytest.mark.smoke
def test_a_search_names_key_and_collection_and_no_text(audited, make_key, settings) -> None:
    token = make_key("search")
    log = audited()
    log.client.headers = {"Authorization": f"Bearer {token}", "X-Request-ID": "7f3a"}
    assert log.client.post("/search", BODY).status_code == 200
    with closing(Catalog(settings.catalog_url)) as catalog:
        (key,) = list_keys(catalog)
    record = log.last()
    assert record.pop("time").endswith("+00:00")
    assert record == {
        "request_id": "7f3a",
        "client": "127.0.0.1",
        "key": key.id,
        "name": key.name,
        "action": "search",
        "method": "POST",
        "route": "/search",
        "status": 200,
        "collections": ["sample"],
        "documents": [],
    }
    assert "secret" not in log.path.read_text("utf-8")


def test_reads_and_changes_name_documents(audited) -> None:
    log = audited()
    log.client.get("/collections/sample/documents/call-1")
    assert (log.last()["action"], log.last()["documents"]) == ("read", ["call-1"])
    log.client.post("/collections/sample/documents", [{"id": "new", "text": "secret"}, {"id": "bad"}])
    assert (log.last()["action"], log.last()["documents"]) == ("change", ["new"])
    log.delete(["call-2", "new"])
    assert log.last()["documents"] == ["call-2", "new"]
    log.client.get("/collections/sample/phrases/cancel")
    assert (log.last()["status"], log.last()["named"]) == (404, {"name": "cancel"})
    assert "secret" not in log.path.read_text("utf-8")


def test_refused_requests_are_recorded_and_health_is_not(audited, make_key) -> None:
    make_key("search")
    log = audited()
    log.client.post("/search", BODY)
    log.client.headers = {"Authorization": "Bearer ssk_0a1b2c3d_nonsense"}
    log.client.get("/collections/sample")
    for path in ("/health/live", "/metrics", "/", "/openapi.json"):
        log.client.get(path)
    assert [(each["status"], each["key"], each["collections"]) for each in log.records()] == [
        (401, None, []),
        (401, "0a1b2c3d", ["sample"]),
    ]


def test_a_setting_adds_the_queries_of_searches_alone(audited) -> None:
    log = audited(audit_texts=True)
    log.client.post("/search", BODY)
    assert json.loads(log.last()["body"]) == BODY
    log.client.post("/search/batch", {"queries": [BODY | {"text": "x " * 2**16}]})
    assert len(log.last()["body"]) == 2**16
    log.client.post("/collections/sample/documents", [{"id": "new", "text": "secret"}])
    assert "body" not in log.last()
    assert log.last()["collections"] == ["sample"]


def test_a_batch_names_all_its_collections(audited) -> None:
    log = audited()
    log.client.post("/search/batch", {"queries": [BODY, BODY | {"collection": "none"}]})
    assert log.last()["collections"] == ["none", "sample"]


def test_many_documents_are_named_up_to_a_limit(audited) -> None:
    log = audited()
    ids = [f"none-{n}" for n in range(MOST_NOTED + 5)]
    log.delete(ids)
    assert log.last()["documents"] == ids[:MOST_NOTED]


def test_a_file_that_was_moved_away_is_made_anew(audited, tmp_path) -> None:
    log = audited()
    log.client.get("/collections")
    log.path.rename(tmp_path / "audit.ndjson.1")
    log.client.get("/aliases")
    assert [each["route"] for each in log.records()] == ["/aliases"]


def test_standard_output(capsys) -> None:
    log = AuditLog("-")
    log.write({"key": "é"})
    log.close()
    assert json.loads(capsys.readouterr().out) == {"key": "é"}


def test_a_folder_that_is_not_there_is_refused_at_start(settings, tmp_path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        create_app(settings.model_copy(update={"audit_log": str(tmp_path / "none" / "audit.ndjson")}))


def test_a_failure_to_write_fails_no_request(audited, caplog, monkeypatch) -> None:
    log = audited()
    monkeypatch.setattr("logging.handlers.WatchedFileHandler.emit", lambda own, record: own.handleError(record))
    assert log.client.post("/search", BODY).status_code == 200
    assert "a record of the audit log was not written" in caplog.text
