"""Spans of texts that come with the request."""

import json
from threading import Event

import pytest
from pydantic import TypeAdapter

from app.texts.span_answers import SpansAnswer

CALL = "I want to cancel my subscription 😀 right now, please."


def spans(client, **body):
    response = client.post("/spans", {"phrases": ["cancel my subscription"]} | body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.smoke
def test_strings_and_objects_are_texts(client) -> None:
    texts = [CALL, {"id": "b", "text": CALL}, {"text": ""}, {"parts": [{"text": "Hello."}, {"text": CALL}]}]
    answer = spans(client, texts=texts, limit=1)
    assert [result["id"] for result in answer["results"]] == ["0", "b", "2", "3"]
    best = [result["hits"][0] for result in answer["results"] if result["hits"]]
    assert [hit["document_id"] for hit in best] == ["0", "b", "3"]
    assert {hit["text"] for hit in best} == {"cancel my subscription"}
    assert [hit["start"] for hit in best] == [10, 10, 17]
    assert answer["results"][2]["hits"] == []
    assert answer["threshold"] == {"value": None, "on": "score", "source": "none", "calibration": None}


def test_hits_are_those_of_a_search(client, documents) -> None:
    # By cosine: the sample stores no words, so that its searches do not look for literal occurrences.
    options = {"context": 10, "explain": True, "offset_unit": "utf16", "ranking": "cosine"}
    found = client.search(text="cancel my subscription", top_k=3, filter={"document": {"year": 2024}}, **options)
    document = documents["call-1"]
    text = {
        "id": document.id,
        "parts": [{"text": part.text, "metadata": part.metadata} for part in document.parts],
        "metadata": document.metadata,
    }
    answer = spans(client, texts=[text], spans={"max_units": 8}, **options)
    hits = [{name: value for name, value in hit.items() if name != "phrase"} for hit in answer["results"][0]["hits"]]
    assert hits == found["hits"]


def test_literal_occurrences_rank_first_and_are_marked(client) -> None:
    texts = ["You may cancel your subscription. Never CANCEL; my subscription ends anyway."]
    first, *others = spans(client, texts=texts, limit=9)["results"][0]["hits"]
    assert (first["text"], first["match"], first["raw"]) == ("CANCEL; my subscription", "exact", 1)
    assert others
    assert all("match" not in hit and hit["raw"] < 1 for hit in others)


def test_several_phrases_are_told_apart_and_each_has_the_limit(client) -> None:
    body = {"phrases": ["subscription", "please"], "texts": [CALL, "please please"], "limit": 1}
    first, second = spans(client, **body)["results"]
    assert sorted((hit["phrase"], hit["rank"], hit["text"]) for hit in first["hits"]) == [
        (0, 1, "subscription"),
        (1, 1, "please"),
    ]
    assert (second["hits"][0]["phrase"], second["hits"][0]["text"]) in {(1, "please"), (1, "please please")}


def test_a_threshold_leaves_out_what_lies_under_it(client) -> None:
    answer = spans(client, texts=[CALL, "Nothing of the kind."], threshold=0.99, limit=9)
    assert [len(result["hits"]) for result in answer["results"]] == [1, 0]
    assert answer["threshold"] == {"value": 0.99, "on": "score", "source": "request", "calibration": None}


def test_whole_clauses_may_have_any_length(client) -> None:
    text = f"{'word ' * 30}to cancel my subscription, or not."
    answer = spans(client, texts=[text], spans={"boundaries": "clause"}, limit=1)
    assert answer["results"][0]["hits"][0]["end"] == text.index(",") + 1


def test_negated_spans_are_marked(client) -> None:
    answer = spans(client, texts=["We could not cancel my subscription, and you did."], limit=1)
    assert answer["results"][0]["hits"][0]["polarity"] == "negated"


def test_the_answer_is_what_the_document_says(client) -> None:
    response = client.post("/spans", {"phrases": ["cancel"], "texts": [CALL], "explain": True})
    assert TypeAdapter(SpansAnswer).validate_json(response.content, strict=True).results[0].hits


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"phrases": []}, "phrases"),
        ({"phrases": ["a"] * 21}, "phrases"),
        ({"phrases": "a"}, "phrases"),
        ({"phrases": ["a", " "]}, "phrases[1]"),
        ({"phrases": ["a", "word " * 65]}, "phrases[1]"),
        ({"phrases": ["a\0"]}, "phrases[0]"),
        ({"texts": []}, "texts"),
        ({"texts": "a"}, "texts"),
        ({"texts": ["a", 5]}, "texts[1]"),
        ({"texts": [{}]}, "texts[0]"),
        ({"texts": [{"text": "a", "parts": []}]}, "texts[0]"),
        ({"texts": [{"text": "a", "colour": "red"}]}, "texts[0].colour"),
        ({"texts": [{"text": "a", "id": ""}]}, "texts[0].id"),
        ({"texts": ["a", "\ud800"]}, "texts[1].text"),
        ({"texts": [{"parts": [{"text": "a"}, {"text": None}]}]}, "texts[0].parts[1].text"),
        ({"texts": [{"text": "a", "metadata": {"a": "\0"}}]}, "texts[0].metadata"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"threshold": 1.1}, "threshold"),
        ({"context": 1001}, "context"),
        ({"ranking": "best"}, "ranking"),
        ({"spans": {"min_units": 0}}, "spans.min_units"),
        ({"spans": {"max_units": 65}}, "spans"),
        ({"spans": {"min_units": 9, "max_units": 8}}, "spans"),
        ({"spans": {"min_units": 9, "max_units": 8, "boundaries": "clause"}}, "spans"),
        ({"collection": "sample"}, "collection"),
    ],
)
def test_a_bad_field_is_named(client, problem, body, field) -> None:
    content = json.dumps({"phrases": ["a"], "texts": ["a"]} | body)
    found = problem(client.post_raw("/spans", content), 422, "invalid_input")
    assert field in [error["field"] for error in found["errors"]]


@pytest.mark.parametrize(
    "texts",
    [["a"] * 1_001, ["x" * 500_001] * 2, [{"parts": [{"text": ""}] * 20_001}]],
    ids=["texts", "characters", "parts"],
)
def test_too_much_text_is_refused_whole(client, problem, texts) -> None:
    found = problem(client.post("/spans", {"phrases": ["a"], "texts": texts}), 422, "too_much_text")
    assert found["errors"][0]["field"] == "texts"


def test_the_scope_search_is_needed(settings, start, make_key, problem) -> None:
    client = start(settings)
    body = {"phrases": ["a"], "texts": ["a"]}
    index, search = make_key("index"), make_key("search", collections=["sample"])
    client.headers = {"Authorization": f"Bearer {index}"}
    problem(client.post("/spans", body), 403, "forbidden")
    client.headers = {"Authorization": f"Bearer {search}"}
    assert client.post("/spans", body).status_code == 200


def test_a_deadline_answers_504(settings, start, problem, monkeypatch) -> None:
    client = start(settings.model_copy(update={"write_deadline_s": 0.05}))
    go = Event()
    monkeypatch.setattr(client.app.state.backend.spans._service, "search", lambda phrases, part: go.wait(30))
    problem(client.post("/spans", {"phrases": ["a"], "texts": ["a"]}), 504, "deadline_exceeded")
    go.set()


def test_a_closing_server_answers_503(settings, start, problem) -> None:
    client = start(settings)
    client.app.state.backend.spans.close()
    problem(client.post("/spans", {"phrases": ["a"], "texts": ["a"]}), 503, "shutting_down")


def test_the_lane_is_in_the_metrics(client) -> None:
    spans(client, texts=[CALL])
    assert 'spanseek_requests_waiting{lane="spans"} 0.0' in client.get("/metrics").text
