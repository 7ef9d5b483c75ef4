"""JSON logs: whose request, and none of the words in it; figures of the process."""

import json
import logging
import re
import sys
from contextlib import closing

import pytest

from app.logs import JsonFormatter
from app.main import _set_up_logging
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from models.errors import InvalidInput

SECRETS = ("zebrafinch", "quokka", "ssk_00000000_wombat")


def test_requests_are_logged_without_texts_and_keys(settings, start, caplog) -> None:
    client = start(settings)
    client.headers = {"Authorization": f"Bearer {SECRETS[2]}", "X-Request-ID": "7f3a"}
    with caplog.at_level(logging.DEBUG):
        client.search(text=SECRETS[0])
        client.post("/collections/sample/documents", {"id": SECRETS[1], "text": SECRETS[0]})
        client.get(f"/collections/{SECRETS[1]}?q={SECRETS[0]}")
    written = [
        JsonFormatter().format(record) for record in caplog.records if record.name.startswith(("app", "indexer"))
    ]
    assert not [line for line in written for secret in SECRETS if secret in line]
    lines = [line for line in map(json.loads, written) if "route" in line]
    assert [(line["route"], line["status"], line["request_id"]) for line in lines] == [
        ("/search", 200, "7f3a"),
        ("/collections/{collection}/documents", 200, "7f3a"),
        ("/collections/{collection}", 404, "7f3a"),
    ]
    assert all(line["seconds"] > 0 for line in lines)


def test_refused_requests_are_logged_with_their_route_and_key(settings, start, caplog) -> None:
    client = start(settings)
    with closing(Catalog(settings.catalog_url)) as catalog:
        made, token = create_key(catalog, "limited", ["search"], rate=1)
    key, wrong = made.id, f"ssk_{made.id}_{'x' * 43}"
    with caplog.at_level(logging.INFO):
        for sent, method, path in (
            (wrong, "POST", "/search"),
            (wrong, "GET", "/collections/sample"),
            ("nonsense", "DELETE", "/collections/sample/documents/a"),
            (token, "POST", "/search"),
            (token, "POST", "/search"),
        ):
            client.run(client.http.request(method, path, headers={"Authorization": f"Bearer {sent}"}))
    records = [record for record in caplog.records if hasattr(record, "route")]
    lines = [json.loads(JsonFormatter().format(record)) for record in records]
    texts = [record.getMessage() for record in records]
    assert all(re.search(r" \d\.\d{3} s$", text) for text in texts)
    assert [text.split()[1] for text in texts] == [key, key, "-", key, key]
    assert [(line["status"], line["route"], line.get("key")) for line in lines] == [
        (401, "/search", key),
        (401, "/collections/{collection}", key),
        (401, "/collections/{collection}/documents/{document_id:id}", None),
        (422, "/search", key),
        (429, "/search", key),
    ]


def test_no_series_says_when_others_began(client) -> None:
    assert "_created" not in client.get("/metrics").text


def test_exceptions_are_logged_without_their_message() -> None:
    try:
        raise ValueError(SECRETS[0])
    except ValueError:
        record = logging.LogRecord("app", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    line = JsonFormatter().format(record)
    assert SECRETS[0] not in line
    assert json.loads(line)["exception"] == "ValueError"
    assert "test_http_logs.py" in json.loads(line)["places"][0]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidInput, match="There is no log format 'xml'"):
        _set_up_logging("info", "xml")


def test_figures_of_the_process(client) -> None:
    figures = client.get("/metrics").text
    for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "spanseek_threads"):
        assert f"\n{name} " in figures
