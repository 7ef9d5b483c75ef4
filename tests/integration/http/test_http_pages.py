"""Pages by cursors while others write, and exports: formats, and resuming one that was cut off."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook

from app.tabular import MEDIA_TYPES
from tests.integration.http.conftest import Client, Problem

PHRASE = "please cancel my subscription"
NEW = [{"id": "call-0", "text": "please cancel my subscription"}, {"id": "filler-1", "text": "cancel my subscription"}]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server looks at the catalog at every search."""
    monkeypatch.setattr("indexer.freshness.FRESH_S", -1.0)


@pytest.fixture
def client(settings: Any, start: Any) -> Client:
    return start(settings.model_copy(update={"grace_s": 600.0}))


def write(client: Client, documents: list[dict[str, str]] = NEW) -> None:
    assert client.post("/collections/sample/documents", documents).status_code == 200


@pytest.mark.smoke
@pytest.mark.parametrize("options", [{}, {"threshold": 0.5, "collapse": "text", "sort": "year:desc"}])
def test_pages_of_a_cursor_are_of_one_generation(client: Client, problem: Problem, options: dict[str, Any]) -> None:
    asked = {"text": PHRASE, "top_k": 1000} | options
    whole = client.search(**asked)
    assert "cursor" not in whole
    answer = client.search(**asked | {"top_k": 5})
    hits = answer["hits"]
    for number in range(2):
        write(client, [document | {"text": f"{document['text']} {number}"} for document in NEW])
        answer = client.search(**asked | {"top_k": 3, "cursor": answer["cursor"], "context": 5})
        assert answer["generation"] == 1
        hits += [{name: value for name, value in hit.items() if name != "context"} for hit in answer["hits"]]
    assert hits == whole["hits"][:11]
    assert client.search(**asked)["generation"] >= 3
    for other in ({"text": "another"}, {"threshold": 0.6}, {"filter": {"document": {"kind": "call"}}}):
        body = client.refused(422, "invalid_input", **asked | other | {"cursor": answer["cursor"]})
        assert body["errors"][0]["field"] == "cursor"
    assert client.refused(422, "invalid_input", **asked, cursor="WzFd")["errors"][0]["field"] == "cursor"


def test_a_cursor_expires_with_its_generation_and_with_the_threshold(settings: Any, start: Any) -> None:
    client = start(settings.model_copy(update={"grace_s": 0.0}))
    cursor = client.search(text=PHRASE, top_k=5)["cursor"]
    assert client.search(text=PHRASE, top_k=5, cursor=cursor)["hits"][0]["rank"] == 6
    threshold = {"mode": "best_span", "value": 0.1, "on": "raw"}
    set_to = client.run(client.http.put("/admin/collections/sample/thresholds", json=threshold))
    assert set_to.status_code == 200, set_to.text
    client.refused(410, "cursor_expired", text=PHRASE, cursor=cursor)
    cursor = client.search(text=PHRASE, top_k=5)["cursor"]
    write(client)
    body = client.refused(410, "cursor_expired", text=PHRASE, cursor=cursor)
    assert body["errors"][0]["field"] == "cursor"


@pytest.mark.smoke
def test_an_export_is_resumed_after_a_cut(client: Client) -> None:
    asked = {"collection": "sample", "text": PHRASE, "threshold": 0.3, "sort": "document.id:desc"}
    response = client.post("/search/export", asked)
    lines = response.text.splitlines()
    *hits, end = map(json.loads, lines)
    assert end["complete"]
    assert "cursor" not in end
    write(client)
    rest = {"cursor": response.headers["spanseek-cursor"], "offset": hits[6]["rank"]}
    assert client.post("/search/export", asked | rest).text.splitlines()[:-1] == lines[7:-1]
    # One that was limited leads on by the cursor at its end.
    first = client.post("/search/export", asked | {"limit": 4, "cursor": rest["cursor"]}).text.splitlines()
    assert first[:-1] == lines[:4]
    end = json.loads(first[-1])
    assert not end["complete"]
    assert client.post("/search/export", asked | {"cursor": end["cursor"]}).text.splitlines()[:-1] == lines[4:-1]


def test_an_export_of_documents_is_resumed_after_a_cut(client: Client, problem: Problem) -> None:
    path = "/collections/sample/export?filter=not+kind+exists"
    response = client.get(path)
    lines = response.text.splitlines()
    assert len(lines) == 40
    write(client)
    cursor = response.headers["spanseek-cursor"]
    assert client.get(f"{path}&cursor={cursor}&offset=13").text.splitlines() == lines[13:]
    assert len(client.get(path).text.splitlines()) == 41
    problem(client.get(f"/collections/sample/export?cursor={cursor}"), 422, "invalid_input")


def test_an_export_has_the_format_that_is_accepted(client: Client, problem: Problem) -> None:
    asked = {"collection": "sample", "text": PHRASE, "threshold": 0.3, "collapse": "text"}

    def export(accept: str) -> Any:
        return client.run(client.http.post("/search/export", json=asked, headers={"Accept": accept}))

    *hits, end = map(json.loads, export("application/*").text.splitlines())
    rows = list(csv.DictReader(io.StringIO(export("text/csv").content.decode("utf-8-sig"))))
    response = export("application/vnd.apache.parquet, */*;q=0.1")
    assert response.headers["content-type"] == "application/vnd.apache.parquet"
    file = pq.ParquetFile(io.BytesIO(response.content))
    assert json.loads(file.metadata.metadata[b"spanseek"]) == end
    table = file.read()
    for row, line, hit in zip(rows, table.to_pylist(), hits, strict=True):
        assert line["document_id"] == row["document_id"] == hit["document_id"]
        assert line["score"] == float(row["score"]) == hit["score"]
        assert line["copies"] == int(row["copies"]) == hit["copies"]
        assert line["text"] == row["text"] == hit["text"]
        assert json.loads(line["metadata"]) == json.loads(row["metadata"]) == hit["metadata"]
    assert len(hits) == end["hits"] > 3
    book = load_workbook(io.BytesIO(export(MEDIA_TYPES["xlsx"]).content), read_only=True)
    head, *cells = book.active.iter_rows(values_only=True)
    assert [row[head.index("text")] for row in cells] == [hit["text"] for hit in hits]
    problem(export("text/html"), 406, "not_acceptable")


def test_hits_are_counted_over_time(client: Client) -> None:
    days = ["2026-10-01", "2026-10-04T23:30:00Z", "2026-10-05T01:30+02:00", "2026-10-31"]
    write(
        client,
        [{"id": f"new-{n}", "text": PHRASE, "metadata": {"day": day, "minutes": n}} for n, day in enumerate(days)],
    )
    asked = {"text": PHRASE, "threshold": 0.999, "top_k": 1, "collapse": "text"}
    answer = client.search(**asked, counts=["day:week", "day:month", "minutes:1,3"])
    assert answer["hits"][0]["copies"] == 5  # one stands in a longer sentence
    assert answer["arranged"] == {"hits": 5, "listed": 1, "complete": True}
    week, month, minutes = answer["counts"]
    assert [(bucket["value"], bucket["hits"]) for bucket in week["buckets"]] == [("2026-09-28", 3), ("2026-10-26", 1)]
    assert [(bucket["value"], bucket["documents"]) for bucket in month["buckets"]] == [("2026-10-01", 4)]
    assert minutes["buckets"] == [
        {"hits": 1, "documents": 1, "below": 1.0},
        {"hits": 2, "documents": 2, "at_least": 1.0, "below": 3.0},
        {"hits": 1, "documents": 1, "at_least": 3.0},
    ]
