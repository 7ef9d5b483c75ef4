"""What a search over HTTP answers."""

import json
from contextlib import closing

import pytest

from indexer.catalog.collections import Catalog
from indexer.types import Recipe
from models.encoders.base import encode_queries
from models.encoders.registry import load_encoder

PHRASE = "cancel my subscription"


def slice_in(text: str, start: int, end: int, unit: str) -> str:
    if unit == "codepoint":
        return text[start:end]
    encoding, width = {"utf16": ("utf-16-le", 2), "byte": ("utf-8", 1)}[unit]
    return text.encode(encoding)[start * width : end * width].decode(encoding)


@pytest.mark.smoke
def test_text_finds_the_phrase_in_two_documents(client) -> None:
    answer = client.search(text=PHRASE, top_k=2)
    assert set(answer) == {"hits", "generation", "threshold", "took_ms", "cursor"}
    assert answer["generation"] == 1
    assert answer["threshold"] == {"value": None, "on": "score", "source": "none", "calibration": None}
    assert answer["took_ms"] > 0
    assert [(hit["document_id"], hit["text"], hit["rank"]) for hit in answer["hits"]] == [
        ("call-1", PHRASE, 1),
        ("call-2", PHRASE, 2),
    ]
    first = answer["hits"][0]
    assert first["raw"] == first["score"] == pytest.approx(1, abs=1e-4)
    assert first["mode"] == "best_span"
    assert first["metadata"] == {"kind": "call", "year": 2024, "open": True}
    assert first["part_metadata"] == {"speaker": "customer"}
    assert "context" not in first
    assert "explanation" not in first


def test_null_metadata_is_answered_and_empty_part_metadata_is_not(client) -> None:
    assert client.search(text=PHRASE, top_k=2)["hits"][1]["metadata"]["note"] is None
    (hit,) = client.search(text="in writing", top_k=1)["hits"]
    assert hit["document_id"] == "contract-1"
    assert "part_metadata" not in hit


@pytest.mark.smoke
def test_a_vector_finds_what_its_text_does(client) -> None:
    (vector,) = encode_queries(load_encoder("hashing"), [PHRASE])
    by_vector = client.search(vector=[float(number) * 7 for number in vector])
    by_text = client.search(text=PHRASE)
    assert [hit["text"] for hit in by_vector["hits"]] == [hit["text"] for hit in by_text["hits"]]


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e308])
def test_vectors_of_any_length_have_a_direction(client, scale) -> None:
    (hit,) = client.search(vector=[scale] + [0.0] * 63, top_k=1)["hits"]
    assert hit == client.search(vector=[1] + [0] * 63, top_k=1)["hits"][0]


@pytest.mark.parametrize("unit", ["codepoint", "utf16", "byte"])
def test_offsets_count_in_the_unit_asked_for(client, documents, unit) -> None:
    hits = client.search(text="subscription 😀 right parcel 👩‍👩‍👧", offset_unit=unit, top_k=50, explain=True)["hits"]
    for hit in hits:
        text = documents[hit["document_id"]].text
        assert slice_in(text, hit["start"], hit["end"], unit) == hit["text"]
        for part in hit["explanation"]["units"]:
            assert slice_in(text, part["start"], part["end"], unit) == part["text"]
    assert any("😀" in hit["text"] for hit in hits)


def test_explanations_add_up_to_the_cosine(client) -> None:
    for hit in client.search(text="please cancel it", explain=True, top_k=20)["hits"]:
        explained = hit["explanation"]
        assert sum(unit["contribution"] for unit in explained["units"]) == pytest.approx(explained["cosine"], abs=1e-4)
        assert (1 + explained["cosine"]) / 2 == pytest.approx(hit["raw"], abs=1e-6)


def test_context_surrounds_the_hit_within_its_part(client) -> None:
    (hit,) = client.search(text=PHRASE, context=10, top_k=1)["hits"]
    context = hit["context"]
    assert context["text"] == "I want to cancel my subscription 😀 right n"
    assert context["text"][context["start"] : context["end"]] == hit["text"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"document": {"kind": "call"}}, {"call-1", "call-2"}),
        ({"document": {"year": 2023}}, {"call-2"}),
        ({"document": {"open": True}}, {"call-1"}),
        ({"document": {"note": None}}, {"call-2"}),
        ({"part": {"speaker": "agent"}}, {"call-1"}),
        ({"document": {"kind": "call"}, "part": {"speaker": "nobody"}}, set()),
        ({"document": {"no such key": 1}}, set()),
    ],
)
def test_filter(client, wanted, found) -> None:
    answer = client.search(text=PHRASE, filter=wanted, top_k=1000)
    assert {hit["document_id"] for hit in answer["hits"]} == found
    unknown = ["document.no such key"] if "no such key" in str(wanted) else []
    assert answer["filtered"] == {"documents": len(found), "of": 43, "unknown_keys": unknown}


@pytest.mark.parametrize("unit", ["span", "document"])
def test_pages_are_those_of_one_list(client, unit) -> None:
    whole = client.search(text=PHRASE, group_by=unit, top_k=1000)["hits"]
    pages = [client.search(text=PHRASE, group_by=unit, top_k=7, offset=offset)["hits"] for offset in range(0, 1100, 7)]
    assert [hit for page in pages for hit in page] == whole
    assert [hit["rank"] for hit in whole] == list(range(1, len(whole) + 1))


def test_all_hits_are_counted_and_exported(client) -> None:
    asked = {"collection": "sample", "text": PHRASE, "threshold": 0.6}
    answer = client.search(**asked, top_k=1, total=True)
    hits = client.search(**asked, top_k=1000)["hits"]
    assert answer["total"] == {"documents": len({hit["document_id"] for hit in hits}), "spans": len(hits)}
    assert client.search(text=PHRASE, top_k=1, total=True)["total"] == {"documents": 43, "spans": None}
    response = client.post("/search/export", asked)
    assert response.headers["content-type"] == "application/x-ndjson"
    *lines, end = map(json.loads, response.text.splitlines())
    assert lines == hits
    assert (end["hits"], end["complete"], end["generation"]) == (len(hits), True, 1)
    *lines, end = map(json.loads, client.post("/search/export", asked | {"limit": 3}).text.splitlines())
    assert (lines, end["hits"], end["complete"]) == (hits[:3], 3, False)


def test_several_collections_are_searched_together(settings, start, problem) -> None:
    client = start(settings)
    texts = [{"id": "b", "text": "please cancel my subscription"}, {"id": "c", "text": "where is the lorry"}]
    client.run(client.http.put("/collections/other", json={"span_units": {"shortest": 1, "longest": 8}}))
    client.post("/collections/other/documents", texts)
    asked = {"text": PHRASE, "top_k": 12, "total": True}
    answer = client.post("/search/collections", asked | {"collections": ["sample", "other"]}).json()
    one = {name: client.search(collection=name, **asked) for name in ("sample", "other")}
    for name, alone in one.items():
        assert [hit["raw"] for hit in answer["hits"] if hit["collection"] == name] == [
            hit["raw"] for hit in alone["hits"]
        ][: sum(hit["collection"] == name for hit in answer["hits"])]
    best = sorted((hit["raw"] for alone in one.values() for hit in alone["hits"]), reverse=True)
    assert [hit["raw"] for hit in answer["hits"]] == best[:12]
    assert {hit["collection"] for hit in answer["hits"]} == {"sample", "other"}
    assert [hit["rank"] for hit in answer["hits"]] == list(range(1, 13))
    assert [(each["name"], each["total"]) for each in answer["collections"]] == [
        (name, alone["total"]) for name, alone in one.items()
    ]
    second = client.post("/search/collections", asked | {"collections": ["sample", "other"], "offset": 5, "top_k": 3})
    assert second.json()["hits"] == answer["hits"][5:8]
    for names, status, code, field in (
        (["sample", "sampel"], 404, "collection_not_found", "collections[1]"),
        (["sample", "sample"], 422, "invalid_input", "collections[1]"),
    ):
        found = problem(client.post("/search/collections", asked | {"collections": names}), status, code)
        assert found["errors"][0]["field"] == field


def test_scores_of_different_encoders_are_not_mixed(settings, start, problem) -> None:
    with closing(Catalog(settings.catalog_url)) as catalog:
        catalog.create_collection("old", Recipe("hashing", "hashing.v0", 64))
    asked = {"text": PHRASE, "collections": ["sample", "old"]}
    found = problem(start(settings).post("/search/collections", asked), 422, "invalid_input")
    assert found["errors"][0]["field"] == "collections[1]"


def test_group_by_keeps_the_best_of_each(client) -> None:
    by_document = client.search(text=PHRASE, group_by="document", top_k=1000)["hits"]
    by_part = client.search(text=PHRASE, group_by="part", top_k=1000)["hits"]
    assert len(by_document) == 43
    assert len({hit["document_id"] for hit in by_document}) == 43
    assert len(by_part) == 45


@pytest.mark.parametrize("on", ["score", "raw"])
def test_nothing_lies_under_the_threshold(client, on) -> None:
    answer = client.search(text=PHRASE, threshold=0.99, threshold_on=on)
    assert answer["threshold"] == {"value": 0.99, "on": on, "source": "request", "calibration": None}
    assert [hit["text"] for hit in answer["hits"]] == [PHRASE, PHRASE]


def test_a_batch_answers_in_order(client) -> None:
    queries = [
        {"collection": "sample", "text": "router 7 is slow", "top_k": 1},
        {"collection": "sample", "text": PHRASE, "top_k": 3},
        {"collection": "sample", "vector": [1.0] + [0.0] * 63, "top_k": 1},
    ]
    response = client.post("/search/batch", {"queries": queries})
    assert response.status_code == 200
    results = response.json()["results"]
    assert [result["hits"] for result in results] == [client.search(**query)["hits"] for query in queries]


def test_collections(client) -> None:
    (only,) = client.get("/collections").json()["collections"]
    assert only == client.get("/collections/sample").json()
    assert (only["name"], only["encoder"], only["dim"]) == ("sample", "hashing", 64)
    assert (only["documents"], only["segments"], only["generation"]) == (43, 1, 1)
    assert only["span_units"] == {"shortest": 1, "longest": 8}
    assert "id" not in only
