"""Documents are read, listed, changed and deleted by a filter over HTTP."""

import csv
import json
from io import BytesIO, StringIO
from urllib.parse import quote

import httpx
import pytest
from pyarrow.parquet import read_table

from app.collections.documents import ChangedDocument, DeletedByFilter
from app.collections.reading import DocumentPage, MetadataCounts, StoredDocument
from tests.integration.http.conftest import DOCUMENTS, Client, read_answer

PATH = "/collections/sample/documents"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch) -> None:
    monkeypatch.setattr("indexer.freshness.FRESH_S", -1.0)


@pytest.fixture
def client(settings, start) -> Client:
    return start(settings)


def patch(client: Client, id: str, body: object) -> httpx.Response:
    return client.run(client.http.patch(f"{PATH}/{quote(id)}", json=body, headers=client.headers))


def exported(client: Client, accept: str, query: str = "") -> httpx.Response:
    headers = client.headers | {"accept": accept}
    return client.run(client.http.get(f"/collections/sample/export{query}", headers=headers))


@pytest.mark.smoke
def test_hits_lie_where_the_document_says(client) -> None:
    for unit, encoding, width in (("utf16", "utf-16-le", 2), ("byte", "utf-8", 1), ("codepoint", "utf-32-le", 4)):
        (hit, *_) = client.search(text="cancel my subscription", offset_unit=unit)["hits"]
        path = f"{PATH}/{hit['document_id']}?offset_unit={unit}"
        document = read_answer(StoredDocument, client.get(path))
        text = document.text.encode(encoding)
        assert text[hit["start"] * width : hit["end"] * width].decode(encoding) == hit["text"]
        assert document.metadata == hit["metadata"]
        assert any(part.start <= hit["start"] < hit["end"] <= part.end for part in document.parts)


@pytest.mark.smoke
def test_all_documents_are_listed_page_by_page(client) -> None:
    ids, cursor = [], ""
    while cursor is not None:
        page = read_answer(DocumentPage, client.get(f"{PATH}?limit=20{cursor and '&cursor=' + cursor}"))
        ids, cursor = ids + [each.id for each in page.documents], page.cursor
        assert page.total == len(DOCUMENTS)
    assert ids == sorted(document.id for document in DOCUMENTS)


@pytest.mark.smoke
def test_all_documents_are_exported_and_can_be_sent_again(client, problem) -> None:
    response = client.get("/collections/sample/export")
    assert response.headers["content-type"] == "application/x-ndjson"
    assert len(response.text.split("\n")) == len(DOCUMENTS) + 1
    again = client.post_raw(PATH, response.content, "application/x-ndjson").json()["results"]
    assert {each["status"] for each in again} == {"unchanged"}
    assert {each["id"] for each in again} == {document.id for document in DOCUMENTS}
    some = client.get(f"/collections/sample/export?filter={quote(json.dumps({'document': {'year': 2024}}))}")
    assert [json.loads(line)["id"] for line in some.text.splitlines()] == ["call-1"]
    problem(client.get("/collections/sampel/export"), 404, "collection_not_found")


def test_documents_are_exported_as_rows_of_their_parts(client, problem) -> None:
    def rows(accept: str) -> bytes:
        response = exported(client, accept, "?filter=year%3D2024")
        assert (response.status_code, response.headers["content-type"].partition(";")[0]) == (200, accept)
        return response.content

    document = next(each for each in DOCUMENTS if each.id == "call-1")
    expected = [
        {
            "id": "call-1",
            "part": number,
            "text": part.text,
            "metadata": json.dumps(dict(document.metadata), sort_keys=True),
            "part_metadata": json.dumps(dict(part.metadata)) if part.metadata else None,
        }
        for number, part in enumerate(document.parts, 1)
    ]
    assert read_table(BytesIO(rows("application/vnd.apache.parquet"))).to_pylist() == expected
    read = list(csv.DictReader(StringIO(rows("text/csv").decode("utf-8-sig"), newline="")))
    assert read == [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in expected]
    problem(exported(client, "text/html"), 406, "not_acceptable")


def test_a_list_is_filtered_by_documents_and_by_parts(client) -> None:
    def listed(filter: object) -> list[str]:
        page = read_answer(DocumentPage, client.get(f"{PATH}?filter={quote(json.dumps(filter))}"))
        return [each.id for each in page.documents]

    assert listed({"document": {"year": 2024}}) == ["call-1"]
    assert listed({"part": {"speaker": "customer"}}) == ["call-1", "call-2"]
    assert listed({"document": {"kind": "call"}, "part": {"speaker": "agent"}}) == ["call-1"]


@pytest.mark.parametrize(
    "query", ["filter={", 'filter={"document":{"a":[1]}}', 'filter={"x":{}}', "cursor=x", "limit=0"]
)
def test_a_bad_query_is_refused(client, problem, query) -> None:
    problem(client.get(f"{PATH}?{query}"), 422, "invalid_input")


def test_an_unknown_document_is_not_found(client, problem) -> None:
    problem(client.get(f"{PATH}/nobody"), 404, "document_not_found")
    problem(patch(client, "nobody", {"metadata": {"a": 1}}), 404, "document_not_found")
    problem(client.get("/collections/nobody/documents"), 404, "collection_not_found")
    problem(client.get("/collections/nobody/documents/a"), 404, "collection_not_found")


def test_metadata_is_changed(client, problem) -> None:
    changed = read_answer(ChangedDocument, patch(client, "call-1", {"metadata": {"year": 2025}, "remove": ["open"]}))
    assert (changed.status, changed.metadata) == ("changed", {"kind": "call", "year": 2025})
    hits = client.search(text="cancel my subscription", filter={"document": {"year": 2025}})["hits"]
    assert {hit["document_id"] for hit in hits} == {"call-1"}
    assert client.get("/collections/sample").json()["documents"] == len(DOCUMENTS)
    assert read_answer(ChangedDocument, patch(client, "call-1", {})).status == "unchanged"
    problem(patch(client, "call-1", {"metadata": {"a\0": 1}}), 422, "invalid_input")


def test_documents_are_deleted_by_a_filter(client, problem) -> None:
    body = {"filter": {"part": {"speaker": "customer"}}}
    counted = read_answer(DeletedByFilter, client.post(f"{PATH}/delete", body | {"dry_run": True}))
    assert (counted.deleted, counted.dry_run) == (2, True)
    assert read_answer(DeletedByFilter, client.post(f"{PATH}/delete", body)).deleted == 2
    problem(client.get(f"{PATH}/call-1"), 404, "document_not_found")
    problem(client.post(f"{PATH}/delete", {"filter": {}}), 422, "invalid_input")
    problem(client.post(f"{PATH}/delete", {}), 422, "invalid_input")


def test_keys_read_with_search_and_write_with_index(client, make_key, problem) -> None:
    client.headers = {"Authorization": f"Bearer {make_key('search')}"}
    assert client.get(f"{PATH}/call-1").status_code == client.get(PATH).status_code == 200
    problem(patch(client, "call-1", {"metadata": {"a": 1}}), 403, "forbidden")
    problem(client.post(f"{PATH}/delete", {"filter": {"document": {"year": 2024}}}), 403, "forbidden")


def test_documents_are_counted_by_their_metadata(client) -> None:
    counts = read_answer(MetadataCounts, client.get('/collections/sample/metadata?filter={"document":{"kind":"call"}}'))
    values = {
        (field.level, field.name): [(one.value, one.documents) for one in field.values] for field in counts.fields
    }
    assert values["document", "kind"] == [("call", 2), ("contract", 1)]
    assert values["part", "speaker"] == [("customer", 2), ("agent", 1)]
    assert counts.documents == 2
    assert client.get("/collections/sample/metadata?limit=0").status_code == 422
    assert client.get("/collections/sample/metadata?filter=no").status_code == 422
    assert client.get("/collections/other/metadata").status_code == 404


ODD = [
    "a\nb",
    "\n",
    "a\n",
    "a/b",
    "/a",
    "a/",
    "//",
    "a%2Fb",
    "100 %",
    ".",
    "..",
    "a/../b",
    "a?b#c",
    "é 😀",
    "a;b=c",
    " ",
]


@pytest.mark.parametrize("id", ODD)
def test_every_id_is_reached_by_its_path(client, id: str) -> None:
    assert client.post(PATH, {"id": id, "text": "An odd name."}).status_code == 200
    path = f"{PATH}/{quote(id, safe='').replace('.', '%2E')}"  # httpx takes dots for steps
    assert client.get(path).json()["id"] == id
    changed = client.run(client.http.patch(path, json={"metadata": {"seen": True}}, headers=client.headers))
    assert changed.json()["id"] == id
    assert client.run(client.http.delete(path, headers=client.headers)).status_code == 200
    assert client.get(path).status_code == 404
