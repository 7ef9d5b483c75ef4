"""Thresholds over HTTP: seen, set, taken back, and applied by the next search."""

import pytest

from app.answers import json_values
from app.calibration.preview import Preview
from tests.integration.http.conftest import read_answer

ROOT = "/admin/collections/sample/thresholds"
PHRASE = "cancel my subscription"


@pytest.fixture
def admin(start, settings):
    """A client that may change the collection at will."""
    started = start(settings)
    started.put = lambda body, path=ROOT: started.run(started.http.put(path, json=body, headers=started.headers))
    return started


@pytest.mark.smoke
def test_a_threshold_is_seen_set_and_applied(admin) -> None:
    nothing, *others = admin.get(ROOT).json()["thresholds"]
    assert nothing == {"mode": "best_span", "threshold": None, "as_set": None, "calibration": None}
    put = admin.put({"value": 0.99, "note": "only what is the same"})
    assert put.status_code == 200
    set_to = {"value": 0.99, "on": "score", "raw": 0.99, "calibration": None}
    assert put.json() == {"mode": "best_span", "threshold": set_to, "as_set": set_to, "calibration": None}
    assert admin.get(ROOT).json() == {"thresholds": [put.json(), *others]}
    answer = admin.search(text=PHRASE)
    assert answer["threshold"] == {"value": 0.99, "on": "score", "source": "collection", "calibration": None}
    assert [hit["text"] for hit in answer["hits"]] == [PHRASE, PHRASE]
    assert len(admin.search(text=PHRASE, threshold=0)["hits"]) == 10


@pytest.mark.smoke
def test_history_and_undo(admin, problem) -> None:
    problem(admin.post(f"{ROOT}/undo", {}), 409, "nothing_to_undo")
    admin.put({"value": 0.8, "note": "first"})
    admin.put({"value": 0.7, "on": "raw"})
    back = admin.run(admin.http.post(f"{ROOT}/undo"))
    assert back.json()["threshold"]["value"] == 0.8
    changes = admin.get(f"{ROOT}/history").json()["changes"]
    assert [(change["note"], change["undo"]) for change in changes] == [("", True), ("", False), ("first", False)]
    assert changes[0]["from"] == {"value": 0.7, "on": "raw", "raw": 0.7, "calibration": None}
    assert changes[0]["to"] == changes[1]["from"] == changes[2]["to"]
    assert changes[2]["from"] is None
    assert all(change["at"].endswith("Z") for change in changes)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"value": 1.5}, "value"),
        ({"value": -1}, "value"),
        ({"value": "high"}, "value"),
        ({"value": True}, "value"),
        ({}, "value"),
        ({"value": 0.5, "on": "cosine"}, "on"),
        ({"value": 0.5, "mode": "worst_span"}, "mode"),
        ({"value": 0.5, "note": "a\0"}, "note"),
        ({"value": 0.5, "note": "x" * 513}, "note"),
        ({"value": 0.5, "treshold": 0.4}, "treshold"),
    ],
)
def test_what_is_no_threshold_is_refused(admin, problem, body, field) -> None:
    found = problem(admin.put(body), 422, "invalid_input")
    assert found["errors"][0]["field"] == field
    assert admin.get(f"{ROOT}/history").json() == {"changes": []}


def test_nan_and_unknown_modes_and_collections(admin, problem) -> None:
    raw = admin.run(admin.http.put(ROOT, content=b'{"value": NaN}', headers={"Content-Type": "application/json"}))
    problem(raw, 422, "invalid_input")
    for mode, code in (("maxsim", "mode_unavailable"), ("worst_span", "invalid_input")):
        problem(admin.put({"value": 0.5, "mode": mode}), 422, code)
        problem(admin.get(f"{ROOT}/history?mode={mode}"), 422, code)
    problem(admin.put({"value": 0.5}, "/admin/collections/no-such/thresholds"), 404, "collection_not_found")
    problem(admin.get("/admin/collections/no-such/thresholds"), 404, "collection_not_found")


def test_only_administrators_may(admin, make_key, problem) -> None:
    keys = {scope: make_key(scope) for scope in ("search", "index", "admin")}
    elsewhere = make_key("admin", collections=["other"])
    for token in (keys["search"], keys["index"], elsewhere):
        refusal = (404, "collection_not_found") if token == elsewhere else (403, "forbidden")
        admin.headers = {"Authorization": f"Bearer {token}"}
        for response in (
            admin.get(ROOT),
            admin.put({"value": 0.5}),
            admin.get(f"{ROOT}/history"),
            admin.post(f"{ROOT}/undo", {}),
        ):
            problem(response, *refusal)
    admin.headers = {"Authorization": f"Bearer {keys['admin']}"}
    assert admin.put({"value": 0.5}).status_code == 200


def test_a_preview_counts_what_searches_find(client, problem) -> None:
    asked = {"phrases": [PHRASE, "router 7"], "threshold": 0.9, "floor": 0.5, "examples": 1}
    found = client.post(f"{ROOT}/preview", asked)
    answer = read_answer(Preview, found)
    assert json_values(answer) == found.json()
    first = answer.phrases[0]
    hits = client.search(text=PHRASE, threshold=0.9, top_k=1000)["hits"]
    assert first.spans == len(hits) == first.spans_above[90]
    assert first.documents == len({hit["document_id"] for hit in hits}) == 2
    assert (first.with_spans, len(first.above), len(first.below)) == (43, 1, 1)
    assert first.above[0].document_id in ("call-1", "call-2")
    assert len(answer.scores) == len(first.documents_above) == len(first.histogram) + 1 == 101


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "phrases"),
        ({"phrases": []}, "phrases"),
        ({"phrases": ["a"] * 101}, "phrases"),
        ({"phrases": [" "]}, "phrases[0]"),
        ({"phrases": ["a"], "floor": 2}, "floor"),
        ({"phrases": ["a"], "threshold": -1}, "threshold"),
        ({"phrases": ["a"], "examples": 51}, "examples"),
        ({"saved": "cancel"}, "saved"),
        ({"saved": [1]}, "saved[0]"),
        ({"saved": [""]}, "saved[0]"),
    ],
)
def test_what_cannot_be_previewed_is_refused(client, problem, body, field) -> None:
    found = problem(client.post(f"{ROOT}/preview", body), 422, "invalid_input")
    assert found["errors"][0]["field"] == field


def test_too_many_saved_phrases_are_refused_by_what_there_is(admin, problem) -> None:
    for number in range(101):
        body = {"text": PHRASE, "name": f"n{number}", "backfill": False}
        assert admin.post("/collections/sample/phrases", body).status_code == 200
    found = problem(admin.post(f"{ROOT}/preview", {"saved": "all"}), 422, "invalid_input")
    assert found["errors"][0]["field"] == "saved"
    assert "More than 100 phrases are saved" in found["detail"]


def test_previews_are_for_administrators(admin, make_key, problem) -> None:
    admin.headers = {"Authorization": f"Bearer {make_key('search')}"}
    problem(admin.post(f"{ROOT}/preview", {"phrases": ["a"]}), 403, "forbidden")
