"""Text-free collections, ``POST /vectors`` and ``POST /restore`` over HTTP, with the weights that ship."""

import asyncio
from threading import Event

import pytest

from indexer.restorable.texts import RestoredTexts
from tests.waiting import PATIENCE_S, advance_loop

TEXTS = ["I would like to cancel my subscription.", "The restaurant is booked for Friday at seven."]
RECIPE = {"store_text": False}


@pytest.fixture
def textless(start, settings):
    """A client whose server has the collection ``textless``."""
    client = start(settings)
    made = client.run(client.http.put("/collections/textless", json=RECIPE, headers=client.headers))
    assert (made.status_code, made.json()["store_text"]) == (201, False), made.text
    assert made.json()["representations"] == ["units", "restorable"]
    sent = client.post("/collections/textless/documents", [{"id": "a", "text": " ".join(TEXTS)}])
    assert sent.json().get("results") == [{"id": "a", "status": "indexed"}], sent.text
    return client


def found(client, code: int = 200, **body):
    response = client.post("/search", {"collection": "textless", **body})
    assert response.status_code == code, response.text
    return response.json()


def test_sentences_come_back_and_nothing_is_stored(textless) -> None:
    answer = found(textless, text="cancel the subscription", mode="restorable")
    hit = answer["hits"][0]
    assert (hit["text"], hit["restored"], hit["start"], hit["end"]) == (TEXTS[0], True, 0, len(TEXTS[0]))
    assert 0.5 < hit["confidence"] <= 1
    part = found(textless, text="cancel my subscription")["hits"][0]
    assert (part["mode"], part["text"], part["restored"]) == ("best_span", "cancel my subscription", True)
    files = [path for path in textless.settings.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if b"restaurant" in path.read_bytes()]


def test_the_rest_of_a_text_free_collection(textless, problem) -> None:
    document = textless.get("/collections/textless/documents/a").json()
    assert (document["text"], document["restored"]) == (" ".join(TEXTS), True)
    assert textless.get("/collections/textless/documents").json()["documents"][0]["beginning"] == ""
    found(textless, 422, text="cancel", mode="lexical")
    found(textless, 409, text="cancel", offset_unit="utf16")
    preview = textless.post(
        "/admin/collections/textless/thresholds/preview", {"phrases": ["cancel"], "threshold": 0.9}
    ).json()
    assert [example["text"] for example in preview["phrases"][0]["above"]] == ["cancel"]
    summary = {"collection": "textless", "document_ids": ["a"]}
    problem(textless.post("/summarize", summary), 409, "text_not_stored")
    line = textless.post_raw(
        "/collections/textless/documents/import", b'{"id": "b", "text": "x"}\n', "application/x-ndjson"
    )
    problem(line, 409, "text_not_stored")
    for other in ({"words": True}, {"facets": True}, {"nugget_ratio": 0.1}, {"restorable": False}):
        refused = textless.run(
            textless.http.put("/collections/other", json={**RECIPE, **other}, headers=textless.headers)
        )
        assert problem(refused, 422, "invalid_input")["errors"][0]["field"] == "store_text"


def test_stored_sentences_and_vectors_are_restored(textless, problem) -> None:
    span = {"document_id": "a", "start": 45, "end": 50}
    answer = textless.post("/restore", {"collection": "textless", "spans": [span], "beams": 2}).json()
    (text,) = answer["texts"]
    assert (text["text"], text["start"]) == (TEXTS[1], len(TEXTS[0]) + 1)
    assert "".join(token["text"] for token in text["tokens"]) == TEXTS[1]
    assert text["confidence"] == min(token["confidence"] for token in text["tokens"])
    assert "warning" not in text
    made = textless.post("/vectors", {"texts": TEXTS}).json()
    assert made["fingerprint"] == answer["fingerprint"]
    assert {len(vector) for rows in made["vectors"] for vector in rows} == {made["dim"]}
    back = textless.post("/restore", {"vectors": made["vectors"], "fingerprint": made["fingerprint"]}).json()
    assert [each["text"] for each in back["texts"]] == TEXTS
    vector = made["vectors"][0][0]
    named = {"fingerprint": made["fingerprint"]}
    (cut,) = textless.post("/restore", {"vectors": [[[0.0] * made["dim"]]], **named}).json()["texts"]
    assert (cut["confidence"], cut["tokens"][-1]) == (0.0, {"text": "", "confidence": 0.0})
    assert "may differ" in cut["warning"]
    for body, field in (
        ({"vectors": [[vector[:-1]]]}, "vectors"),
        ({"vectors": [[vector, vector[:5]]]}, "vectors"),
        ({"vectors": [[]]}, "vectors"),
        ({"vectors": [[vector] * 9]}, "vectors"),
        ({"vectors": [[[1e39, *vector[1:]]]]}, "vectors"),
        ({"vectors": [[vector]], "fingerprint": "restorable:0"}, "fingerprint"),
    ):
        assert problem(textless.post("/restore", named | body), 422, "invalid_input")["errors"][0]["field"] == field
    problem(textless.post_raw("/restore", b'{"vectors": [[[NaN]]]}'), 422, "invalid_input")


def test_labels_and_uploads_that_would_wait_on_the_disk_are_refused(textless, problem) -> None:
    labels = [{"phrase": "cancel", "text": f"the heron {number}", "match": number % 2 == 0} for number in range(20)]
    calibration = {"kind": "calibration", "collection": "textless", "labels": labels}
    assert problem(textless.post("/tasks", calibration), 409, "text_not_stored")["errors"][0]["field"] == "labels"
    assert textless.post("/admin/collections/textless/calibrations", {"labels": labels}).status_code == 200
    files = [path for path in textless.settings.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if b"heron" in path.read_bytes()]
    spans = [
        {"phrase": f"phrase {number}", "span": {"document_id": "a", "start": 0, "end": 20}, "match": number % 2 == 0}
        for number in range(20)
    ]
    assert textless.post("/tasks", calibration | {"labels": spans}).status_code == 202


SPANS = [{"document_id": "call-1", "start": 0, "end": 1}]


@pytest.mark.parametrize(
    ("route", "body", "status", "code"),
    [
        ("/restore", {}, 422, "invalid_input"),
        ("/restore", {"collection": "sample"}, 422, "invalid_input"),
        ("/restore", {"vectors": [[[1.0]]], "fingerprint": "restorable:0", "beams": 99}, 422, "invalid_input"),
        ("/restore", {"vectors": [[[1.0]]]}, 422, "invalid_input"),
        ("/restore", {"collection": "sample", "spans": SPANS, "fingerprint": "restorable:0"}, 422, "invalid_input"),
        (
            "/restore",
            {"collection": "sample", "spans": SPANS},
            422,
            "mode_unavailable",
        ),
        (
            "/restore",
            {"collection": "none", "spans": SPANS},
            404,
            "collection_not_found",
        ),
        ("/vectors", {"texts": []}, 422, "invalid_input"),
        ("/vectors", {"texts": ["word " * 1000]}, 422, "invalid_input"),
    ],
)
def test_what_is_refused(client, problem, route: str, body: dict[str, object], status: int, code: str) -> None:
    problem(client.post(route, body), status, code)


def test_texts_are_given_up(start, settings) -> None:
    client = start(settings.model_copy(update={"grace_s": 0.0}))
    phrase = {"name": "parcels", "text": "my parcel never came.", "threshold": 0.8, "backfill": True}
    assert client.post("/collections/sample/phrases", phrase).status_code < 300
    assert client.get("/collections/sample/matches").json()["events"]
    task = client.post("/tasks", {"kind": "reindex", "collection": "sample", "store_text": False}).json()
    done = client.get(f"/tasks/{task['id']}?wait=60").json()
    assert done["status"] == "done", done
    assert client.get("/collections/sample").json()["store_text"] is False
    assert {event["text"] for event in client.get("/collections/sample/matches").json()["events"]} == {""}
    packed = [path for path in settings.data_dir.rglob("text.zst") if path.stat().st_size]
    assert packed == []
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if b"agreement in writing" in path.read_bytes()]
    again = client.post("/tasks", {"kind": "reindex", "collection": "sample", "words": True}).json()
    failed = client.get(f"/tasks/{again['id']}?wait=60").json()
    assert (failed["status"], failed["error"]["code"]) == ("failed", "text_not_stored")


class HeldDecoder:
    """The decoder, but that it waits to be let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.go = Event(), Event()
        restore = RestoredTexts.restorations

        def held(texts: RestoredTexts, rows):
            self.entered.set()
            assert self.go.wait(PATIENCE_S)
            return restore(texts, rows)

        monkeypatch.setattr(RestoredTexts, "restorations", held)


def test_texts_are_restored_in_a_lane_that_is_full_at_its_limit(settings, start, problem, monkeypatch) -> None:
    client = start(settings.model_copy(update={"queue_limit": 1}))
    client.run(client.http.put("/collections/textless", json=RECIPE, headers=client.headers))
    client.post("/collections/textless/documents", [{"id": "a", "text": " ".join(TEXTS)}])
    decoder = HeldDecoder(monkeypatch)
    body = {"collection": "textless", "text": "cancel my subscription"}

    async def overload():
        first = asyncio.create_task(client.http.post("/search", json=body))
        await asyncio.to_thread(decoder.entered.wait, PATIENCE_S)
        second = asyncio.create_task(client.http.get("/collections/textless/documents/a"))
        async with asyncio.timeout(PATIENCE_S):
            while not client.app.state.backend.waiting()["restore"]:
                await asyncio.sleep(0)
        refused = [
            await client.http.post("/search", json=body),
            await client.http.get("/collections/textless/documents/a"),
            await client.http.post("/vectors", json={"texts": TEXTS}),
        ]
        other = await client.http.post("/search", json=body | {"collection": "sample"})
        decoder.go.set()
        return await first, await second, refused, other

    first, second, refused, other = client.run(overload())
    for answer in refused:
        problem(answer, 429, "too_many_requests")
    assert first.status_code == second.status_code == other.status_code == 200
    assert second.json()["text"] == " ".join(TEXTS)


def test_a_restoration_that_takes_too_long_answers_504(settings, start, problem, monkeypatch) -> None:
    client = start(settings.model_copy(update={"deadline_s": 60.0}))
    client.run(client.http.put("/collections/textless", json=RECIPE, headers=client.headers))
    client.post("/collections/textless/documents", [{"id": "a", "text": " ".join(TEXTS)}])
    decoder = HeldDecoder(monkeypatch)

    async def late():
        reading = asyncio.create_task(client.http.get("/collections/textless/documents/a"))
        assert await asyncio.to_thread(decoder.entered.wait, PATIENCE_S)
        advance_loop(monkeypatch, 61)
        return await reading

    problem(client.run(late()), 504, "deadline_exceeded")
    decoder.go.set()


def test_a_key_with_a_filter_restores_its_own_alone(textless, problem) -> None:
    textless.post("/collections/textless/documents", [{"id": "b", "text": TEXTS[1]}])
    key = {"name": "a", "scopes": ["search"], "filter": 'document.id = "a"'}
    textless.headers = {"Authorization": f"Bearer {textless.post('/admin/keys', key).json()['token']}"}

    def restored(id: str):
        return textless.post(
            "/restore", {"collection": "textless", "spans": [{"document_id": id, "start": 0, "end": 5}]}
        )

    assert restored("a").json()["texts"][0]["text"] == TEXTS[0]
    for id in ("b", "none"):
        assert problem(restored(id), 404, "document_not_found")["detail"].endswith(f"has no document '{id}'.")
    assert {hit["document_id"] for hit in found(textless, text="restaurant", mode="restorable")["hits"]} == {"a"}
