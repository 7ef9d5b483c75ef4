"""``POST /compare`` and ``POST /summarize`` with the facets that ship."""

import pytest


def test_two_texts_are_compared(client) -> None:
    body = {"first": "cancel my subscription", "second": "Cancel my SUBSCRIPTION"}
    for collection in ({}, {"collection": "sample"}):
        response = client.post("/compare", body | collection)
        assert response.status_code == 200, response.text
        answer = response.json()
        assert {each["mode"] for each in answer["similarities"]} >= {"best_span"}
        assert all(0 <= each["raw"] <= 1 and 0 <= each["score"] <= 1 for each in answer["similarities"])
        assert len(answer["facets"]["first"]) == 10
        assert answer["facets"]["first"] == answer["facets"]["second"]
        assert answer["direction"] == {"more_general": None, "difference": 0.0}


def test_the_more_general_of_two_phrases(client) -> None:
    answer = client.post("/compare", {"first": "dog", "second": "animal"}).json()
    assert answer["direction"]["more_general"] == "second"


def test_documents_and_given_texts_are_summarized(client, documents) -> None:
    stored = client.post("/summarize", {"collection": "sample", "document_ids": ["call-1"], "sentences": 1}).json()
    (sentence,) = stored["sentences"]
    assert documents["call-1"].text[sentence["start"] : sentence["end"]] == sentence["text"]
    hit = client.search(text="cancel my subscription", top_k=1)["hits"][0]
    span = {name: hit[name] for name in ("document_id", "start", "end")}
    of_hit = client.post("/summarize", {"collection": "sample", "spans": [span]}).json()
    assert hit["text"] in of_hit["sentences"][0]["text"]
    given = client.post("/summarize", {"texts": ["It rains. The dog sleeps.", {"id": "b", "text": "Now!"}]}).json()
    assert {sentence["document_id"] for sentence in given["sentences"]} <= {"0", "b"}
    assert given["of"] == 3


def test_a_key_with_a_filter_summarizes_its_own_alone(start, settings, problem) -> None:
    client = start(settings)
    key = {"name": "calls", "scopes": ["search"], "filter": 'kind = "call"'}
    client.headers = {"Authorization": f"Bearer {client.post('/admin/keys', key).json()['token']}"}
    body = {"collection": "sample", "sentences": 1}
    own = client.post("/summarize", body | {"document_ids": ["call-1"]}).json()
    assert own["sentences"][0]["document_id"] == "call-1"
    for id in ("contract-1", "none"):
        span = {"document_id": id, "start": 0, "end": 5}
        for named in ({"document_ids": ["call-1", id]}, {"spans": [span]}):
            error = problem(client.post("/summarize", body | named), 404, "document_not_found")
            assert error["detail"] == f"The collection 'sample' has no document '{id}'."


@pytest.mark.parametrize(
    ("route", "body", "status", "code"),
    [
        ("/compare", {"first": "a", "second": " "}, 422, "invalid_input"),
        ("/compare", {"first": "a" * 10_001, "second": "b"}, 422, "invalid_input"),
        ("/compare", {"first": "a", "second": "b", "collection": "none"}, 404, "collection_not_found"),
        ("/summarize", {}, 422, "invalid_input"),
        ("/summarize", {"collection": "sample"}, 422, "invalid_input"),
        ("/summarize", {"document_ids": ["a"]}, 422, "invalid_input"),
        ("/summarize", {"collection": "sample", "document_ids": ["none"]}, 404, "document_not_found"),
        ("/summarize", {"texts": ["?!"]}, 422, "invalid_input"),
        ("/summarize", {"texts": ["Plan. " * 5_001]}, 422, "too_many_sentences"),
        ("/summarize", {"texts": ["a"], "sentences": 0}, 422, "invalid_input"),
    ],
)
def test_what_is_refused(client, route: str, body: dict[str, object], status: int, code: str) -> None:
    response = client.post(route, body)
    assert (response.status_code, response.json()["code"]) == (status, code), response.text


def test_sentences_are_searched_by_their_facets(start, settings, problem) -> None:
    client = start(settings)
    made = client.run(client.http.put("/collections/notes", json={"facets": True}, headers=client.headers))
    assert "facets" in made.json()["representations"]
    documents = [
        {"id": "music", "text": "She played the piano in an orchestra. Then it rained."},
        {"id": "money", "text": "The bank raised the interest rate again."},
    ]
    for each in documents:
        assert client.post("/collections/notes/documents", each).status_code == 200
    answer = client.search(collection="notes", text="a violin concert", mode="facets", explain=True, threshold=0)
    first, *_ = answer["hits"]
    assert (first["document_id"], first["text"]) == ("music", "She played the piano in an orchestra.")
    assert first["raw"] == pytest.approx((1 + first["explanation"]["cosine"]) / 2)
    assert [len(first["explanation"][side]) for side in ("query", "hit")] == [10, 10]
    assert all(len(facet["words"]) == 3 for facet in first["explanation"]["hit"])
    compared = client.post("/compare", {"first": "a concert", "second": "an orchestra", "collection": "notes"}).json()
    assert "facets" in {each["mode"] for each in compared["similarities"]}
    problem(client.post("/search", {"collection": "sample", "text": "x", "mode": "facets"}), 422, "mode_unavailable")
