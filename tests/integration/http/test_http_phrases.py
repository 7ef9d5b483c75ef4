"""Saved phrases over HTTP: saved, tuned, matched against what arrives, and read by polling."""

import base64
import json
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

from app.answers import json_values
from app.collections.jobs import CollectionJobs
from app.phrases.answers import EventPage
from app.phrases.service import PhraseService
from app.tasks.backfilling import Backfilling
from app.tasks.service import TaskService
from indexer.catalog.leases import lease
from indexer.phrases import PhraseDraft
from tests.integration.http.conftest import read_answer

ROOT = "/collections/sample/phrases"
MATCHES = "/collections/sample/matches"
PHRASE = "cancel my subscription"


class Caller:
    """A client that may change the collection at will."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def ask(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        given = {} if body is None else {"json": body}
        return self.client.run(self.client.http.request(method, path, headers=self.client.headers, **given, **options))

    def save(self, **body: object) -> dict[str, Any]:
        answer = self.ask("POST", ROOT, {"text": PHRASE, "backfill": False} | body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def index(self, id: str, text: str, **metadata: object) -> None:
        body = {"id": id, "text": text, "metadata": metadata}
        assert self.ask("POST", "/collections/sample/documents", body).status_code == 200

    def events(self, path: str = MATCHES) -> list[dict[str, Any]]:
        return self.ask("GET", path).json()["events"]


@pytest.fixture
def caller(start, settings):
    return Caller(start(settings))


@pytest.mark.smoke
def test_a_phrase_is_matched_against_what_arrives_and_read_with_a_cursor(caller) -> None:
    made = caller.save(name="cancel", threshold=0.9, filter={"document": {"kind": "call"}}, note="churn")
    assert (made["name"], made["text"], made["note"]) == ("cancel", PHRASE, "churn")
    assert made["applies"] == {"value": 0.9, "on": "score", "source": "phrase"}
    assert caller.events() == []  # what was there before is not matched
    caller.index("new-1", f"Please {PHRASE} today.", kind="call")
    caller.index("new-2", f"Please {PHRASE} today.", kind="letter")
    answer = caller.ask("GET", MATCHES)
    page = read_answer(EventPage, answer)
    assert json_values(page) == answer.json()
    (found,) = page.events
    (hit,) = caller.client.search(text=PHRASE, threshold=0.9, filter={"document": {"kind": "call"}, "part": {}})[
        "hits"
    ][2:]
    assert hit["document_id"] == found.document_id == "new-1"
    assert (found.start, found.end, found.text) == (hit["start"], hit["end"], PHRASE)
    assert (found.score, found.raw, found.event, found.reason) == (hit["score"], hit["raw"], "matched", None)
    assert found.generation == 2
    assert caller.events(f"{MATCHES}?cursor={page.cursor}") == []
    caller.index("new-1", "Nothing of the kind.", kind="call")
    (gone,) = caller.events(f"{MATCHES}?cursor={page.cursor}")
    assert (gone["event"], gone["match"], gone["reason"], gone["text"]) == (
        "withdrawn",
        found.match,
        "document_changed",
        None,
    )


@pytest.mark.smoke
def test_a_deleted_document_withdraws_its_matches(caller) -> None:
    caller.save(threshold=0.9)
    caller.index("new", PHRASE)
    assert caller.ask("DELETE", "/collections/sample/documents/new").status_code == 200
    assert [(each["event"], each["reason"]) for each in caller.events()] == [
        ("matched", None),
        ("withdrawn", "document_deleted"),
    ]


def test_the_collections_threshold_applies_and_without_any_nothing_matches(caller) -> None:
    assert caller.save()["applies"] == {"value": None, "on": "score", "source": "none"}
    caller.index("one", PHRASE)
    assert caller.events() == []
    caller.ask("PUT", "/admin/collections/sample/thresholds", {"value": 0.9})
    path = f"{ROOT}/{quote(PHRASE)}"
    assert caller.ask("GET", path).json()["applies"] == {"value": 0.9, "on": "score", "source": "collection"}
    caller.index("two", PHRASE)
    assert [each["document_id"] for each in caller.events()] == ["two"]
    assert caller.ask("POST", f"{path}/backfill").json() == {"added": 3, "withdrawn": 0}
    caller.ask("PUT", "/admin/collections/sample/thresholds", {"value": 1.0})
    assert caller.ask("POST", f"{path}/backfill").json() == {"added": 0, "withdrawn": 4}


@pytest.mark.smoke
def test_a_backfill_matches_what_is_there(caller) -> None:
    caller.save(threshold=0.9, backfill=True)
    assert [each["document_id"] for each in caller.events()] == ["call-1", "call-2"]
    assert caller.ask("GET", f"{MATCHES}?limit=1").json()["more"] is True


def test_phrases_are_listed_changed_and_deleted(caller, problem) -> None:
    for name in ("b", "a", "c"):
        caller.save(name=name, threshold=0.9, backfill=True)
    problem(caller.ask("POST", ROOT, {"text": "other", "name": "a"}), 409, "phrase_exists")
    first = caller.ask("GET", f"{ROOT}?limit=2").json()
    rest = caller.ask("GET", f"{ROOT}?limit=2&cursor={first['cursor']}").json()
    assert [each["name"] for each in first["phrases"] + rest["phrases"]] == ["a", "b", "c"]
    assert rest["cursor"] is None
    assert caller.ask("PATCH", f"{ROOT}/a", {"note": "x"}).json()["note"] == "x"
    assert len(caller.events()) == 6
    assert caller.ask("PATCH", f"{ROOT}/a", {"text": "router 7"}).json()["text"] == "router 7"
    assert caller.ask("DELETE", f"{ROOT}/b").json() == {"name": "b", "status": "deleted"}
    problem(caller.ask("GET", f"{ROOT}/b"), 404, "phrase_not_found")
    problem(caller.ask("DELETE", f"{ROOT}/b"), 404, "phrase_not_found")
    told = [(each["phrase"], each["reason"]) for each in caller.events() if each["event"] == "withdrawn"]
    assert told == [("a", "phrase_changed")] * 2 + [("b", "phrase_deleted")] * 2
    assert {each["phrase"] for each in caller.events(f"{MATCHES}?phrase=c")} == {"c"}


def test_a_phrases_threshold_has_a_history_and_can_be_taken_back(caller, problem) -> None:
    caller.save(name="a", threshold=0.9)
    path = f"{ROOT}/a/threshold"
    put = caller.ask("PUT", path, {"value": 0.5, "on": "raw", "note": "more"}).json()
    assert put["threshold"] == put["as_set"] == {"value": 0.5, "on": "raw", "raw": 0.5, "calibration": None}
    assert caller.ask("GET", path).json() == put
    assert caller.ask("POST", f"{path}/undo").json()["threshold"]["value"] == 0.9
    assert caller.ask("POST", f"{path}/undo", {"note": "none at all"}).json()["threshold"] is None
    problem(caller.ask("POST", f"{path}/undo"), 409, "nothing_to_undo")
    changes = caller.ask("GET", f"{path}/history").json()["changes"]
    assert [(each["note"], each["undo"]) for each in changes] == [
        ("none at all", True),
        ("", True),
        ("more", False),
        ("", False),
    ]
    problem(caller.ask("PUT", f"{ROOT}/none/threshold", {"value": 0.5}), 404, "phrase_not_found")


def test_the_threshold_auto_wants_a_second_look(caller, problem) -> None:
    body = {"text": PHRASE, "threshold": "auto"}
    refused = problem(caller.ask("POST", ROOT, body), 422, "invalid_input")
    (error,) = refused["errors"]
    assert (error["field"], "second look" in error["message"]) == ("threshold", True)
    wrong = problem(caller.ask("POST", ROOT, body | {"threshold": "high"}), 422, "invalid_input")
    assert [error["field"] for error in wrong["errors"]] == ["threshold"]


def test_an_import_says_what_became_of_every_line(caller) -> None:
    lines = (
        '{"name": "a", "text": "cancel my subscription", "threshold": 0.9}\n'
        '{"name": "b", "text": "router 7", "threshold": 2}\n'
        "nonsense\n\n"
        '{"text": "a/b"}\n'
        '{"text": "the parcel never came", "threshold": 0.9}\n'
    )

    def sent(path: str) -> dict[str, Any]:
        headers = {"Content-Type": "application/x-ndjson"}
        answer = caller.client.run(caller.client.http.post(path, content=lines, headers=headers))
        assert answer.status_code == 200, answer.text
        return answer.json()

    first = sent(f"{ROOT}/import?backfill=true")
    assert [(each["name"], each["status"]) for each in first["results"]] == [
        ("a", "created"),
        ("b", "failed"),
        (None, "failed"),
        ("a/b", "failed"),
        ("the parcel never came", "created"),
    ]
    assert [each["error"]["code"] for each in first["results"] if "error" in each] == ["invalid_input"] * 3
    assert first["rematched"]["added"] == len(caller.events()) >= 2
    again = sent(f"{ROOT}/import?backfill=false")
    assert [each["status"] for each in again["results"]] == ["unchanged", "failed", "failed", "failed", "unchanged"]
    lines = '{"name": "a", "text": "cancel my subscription", "threshold": 0.8}'
    assert [each["status"] for each in sent(f"{ROOT}/import")["results"]] == ["changed"]
    assert caller.ask("GET", f"{ROOT}/a").json()["threshold"]["value"] == 0.8


def test_an_import_reports_what_no_answer_can_hold_and_keeps_what_is_valid(caller) -> None:
    long = "x " * 1000
    lines = [
        {"name": "okay", "text": "hello there"},
        {"name": "\ud800", "text": "a"},
        {"text": "\ud800"},
        {"text": "a", "\ud800": 1},
        {"name": "okay", "text": long},
    ]
    body = "\n".join(map(json.dumps, lines))
    headers = {"Content-Type": "application/x-ndjson"}
    answer = caller.client.run(caller.client.http.post(f"{ROOT}/import", content=body, headers=headers))
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [(one["name"], one["status"]) for one in results] == [
        ("okay", "created"),
        (None, "failed"),
        (None, "failed"),
        ("a", "failed"),
        ("okay", "failed"),
    ]
    assert "no encoding can carry" in results[3]["error"]["detail"]
    assert long[:40] in results[4]["error"]["detail"]
    assert caller.ask("GET", f"{ROOT}/okay").json()["text"] == "hello there"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": " "}, "text"),
        ({"text": "a\0"}, "text"),
        ({"text": "a", "threshold": 1.5}, "threshold"),
        ({"text": "a", "threshold": -1}, "threshold"),
        ({"text": "a", "name": "a/b"}, "name"),
        ({"text": "a", "name": ".."}, "name"),
        ({"text": "a/b"}, "name"),
        ({"text": "a", "name": "x" * 201}, "name"),
        ({"text": "a", "treshold": 0.5}, "treshold"),
        ({"text": "a", "filter": {"document": {"a": []}}}, "filter.document.a"),
    ],
)
def test_what_is_no_phrase_is_refused(caller, problem, body, field) -> None:
    found = problem(caller.ask("POST", ROOT, body), 422, "invalid_input")
    assert found["errors"][0]["field"] == field
    assert caller.ask("GET", ROOT).json() == {"phrases": [], "cursor": None}


def test_bad_cursors_collections_and_bodies(caller, problem) -> None:
    caller.save(name="a")
    caller.save(name="b")
    of_phrases = caller.ask("GET", f"{ROOT}?limit=1").json()["cursor"]
    for cursor in ("x", of_phrases, "%00", "é", "W10"):
        problem(caller.ask("GET", f"{MATCHES}?cursor={cursor}"), 422, "invalid_input")
    collection = json.loads(base64.urlsafe_b64decode(of_phrases + "=="))[1]
    for name in ("\ud800", "a\0b", "", 7, None):
        made_up = base64.urlsafe_b64encode(json.dumps(["phrases", collection, name]).encode()).decode().rstrip("=")
        problem(caller.ask("GET", f"{ROOT}?cursor={made_up}"), 422, "invalid_input")
    problem(caller.ask("GET", f"{MATCHES}?limit=0"), 422, "invalid_input")
    problem(caller.ask("GET", "/collections/no-such/matches"), 404, "collection_not_found")
    problem(caller.ask("GET", "/collections/no-such/phrases"), 404, "collection_not_found")
    problem(caller.ask("POST", "/collections/no-such/phrases", {"text": "a"}), 404, "collection_not_found")
    problem(caller.ask("GET", f"{ROOT}/%00"), 404, "phrase_not_found")
    problem(caller.client.post_raw(f"{ROOT}/import", b"", "application/x-ndjson"), 422, "invalid_input")
    problem(caller.client.post_raw(f"{ROOT}/import", b"a", "text/csv"), 415, "unsupported_media_type")
    problem(caller.client.post_raw(f"{ROOT}/import", b"a"), 400, "bad_json")
    lines = b'{"text": "a"}\n' * 20_001
    problem(caller.client.post_raw(f"{ROOT}/import", lines, "application/x-ndjson"), 422, "invalid_input")
    nan = caller.client.post_raw(f"{ROOT}/a/threshold", b'{"value": NaN}')
    problem(nan, 405, "method_not_allowed")


def test_reading_needs_search_and_writing_needs_index(caller, make_key, problem) -> None:
    reader, writer = make_key("search"), make_key("index")
    caller.client.headers = {"Authorization": f"Bearer {writer}"}
    caller.save(name="a")
    problem(caller.ask("GET", MATCHES), 403, "forbidden")
    caller.client.headers = {"Authorization": f"Bearer {reader}"}
    assert caller.ask("GET", MATCHES).status_code == caller.ask("GET", f"{ROOT}/a").status_code == 200
    for method, path, body in (
        ("POST", ROOT, {"text": "b"}),
        ("PATCH", f"{ROOT}/a", {"note": "b"}),
        ("DELETE", f"{ROOT}/a", None),
        ("PUT", f"{ROOT}/a/threshold", {"value": 0.5}),
        ("POST", f"{ROOT}/a/threshold/undo", None),
        ("POST", f"{ROOT}/a/backfill", None),
        ("POST", f"{ROOT}/import", [{"text": "b"}]),
    ):
        problem(caller.ask(method, path, body), 403, "forbidden")


def test_what_is_there_is_matched_unless_that_is_not_wanted(caller) -> None:
    made = caller.ask("POST", ROOT, {"text": PHRASE, "threshold": 0.9}).json()
    assert made["rematched"] == {"added": 2, "withdrawn": 0}
    assert "task" not in made
    assert "rematched" not in caller.ask("GET", f"{ROOT}/{quote(PHRASE)}").json()
    changed = caller.ask("PATCH", f"{ROOT}/{quote(PHRASE)}", {"filter": {"document": {"year": 2023}}}).json()
    assert changed["rematched"] == {"added": 1, "withdrawn": 0}
    assert "rematched" not in caller.ask("PATCH", f"{ROOT}/{quote(PHRASE)}", {"note": "x"}).json()
    assert "rematched" not in caller.save(name="later", threshold=0.9, backfill=False)


def test_a_backfill_that_is_long_or_must_wait_is_a_task(caller) -> None:
    backend = caller.client.app.state.backend
    with lease(backend.store.catalog, "sample"):
        made = caller.ask("POST", ROOT, {"text": PHRASE, "name": "busy", "threshold": 0.9}).json()
    assert "rematched" not in made
    long = Backfilling(
        backend.store.catalog,
        backend.get(PhraseService),
        backend.get(CollectionJobs),
        backend.get(TaskService),
        at_once=0,
    )
    drafts = [PhraseDraft("long", PHRASE, 0.9), PhraseDraft("gone", PHRASE, 0.9)]
    tasks = [made["task"], long.put("sample", drafts, backfill=True).task]
    caller.ask("DELETE", f"{ROOT}/gone")  # what is no longer there keeps no other phrase from being matched
    document = {"id": "meanwhile", "text": PHRASE}
    while caller.ask("POST", "/collections/sample/documents", document).status_code == 409:
        pass  # one of the tasks writes
    for task in tasks:
        assert caller.ask("GET", f"/tasks/{task}?wait=60").json()["status"] == "done"
    standing = Counter((each["phrase"], each["document_id"]) for each in caller.events() if each["phrase"] != "gone")
    assert standing == {(name, id): 1 for name in ("busy", "long") for id in ("call-1", "call-2", "meanwhile")}


def test_tags_group_phrases_and_their_matches(caller, problem) -> None:
    caller.save(name="a", threshold=0.9, tags=["legal", "churn", "legal"], backfill=True)
    caller.save(name="b", threshold=0.9, tags=["legal"], backfill=True)
    caller.save(name="c", threshold=0.9, backfill=True)

    def listed(query: str) -> list[str]:
        return [each["name"] for each in caller.ask("GET", f"{ROOT}?{query}").json()["phrases"]]

    def matched(query: str) -> list[str]:
        return sorted({each["phrase"] for each in caller.events(f"{MATCHES}?{query}")})

    assert caller.ask("GET", f"{ROOT}/a").json()["tags"] == ["churn", "legal"]
    assert listed("tag=legal") == matched("tag=legal") == ["a", "b"]
    assert listed("tag=churn") == matched("tag=churn") == ["a"]
    assert listed("tag=churn&tag=legal") == ["a", "b"]
    assert listed("tag=Churn") == listed("tag=chur%25") == []
    assert matched("tag=legal&phrase=b") == ["b"]
    caller.ask("PATCH", f"{ROOT}/c", {"tags": ["legal"]})
    caller.ask("PATCH", f"{ROOT}/a", {"tags": []})
    assert matched("tag=legal") == ["b", "c"]
    caller.ask("DELETE", f"{ROOT}/b")
    withdrawn = [each for each in caller.events(f"{MATCHES}?tag=legal") if each["event"] == "withdrawn"]
    assert [(each["phrase"], each["tags"], each["reason"]) for each in withdrawn] == [
        ("b", ["legal"], "phrase_deleted")
    ] * 2
    for tags in ([""], [" a"], ["a\0"], ["x" * 65], "a", [7], [f"t{n}" for n in range(33)]):
        problem(caller.ask("POST", ROOT, {"text": "x", "tags": tags}), 422, "invalid_input")


def test_a_paused_phrase_keeps_its_matches_and_catches_up_afterwards(caller, problem) -> None:
    caller.save(name="a", threshold=0.9, backfill=True)
    assert caller.ask("PATCH", f"{ROOT}/a", {"paused": True}).json()["paused"] is True
    caller.index("missed", PHRASE)
    assert len(caller.events()) == 2
    problem(caller.ask("POST", f"{ROOT}/a/backfill"), 409, "phrase_paused")
    caller.ask("DELETE", "/collections/sample/documents/call-1")
    assert caller.events()[-1]["reason"] == "document_deleted"
    resumed = caller.ask("PATCH", f"{ROOT}/a", {"paused": False}).json()
    assert resumed["rematched"] == {"added": 1, "withdrawn": 0}
    assert caller.events()[-1]["document_id"] == "missed"
    assert "rematched" not in caller.save(name="b", threshold=0.9, paused=True, backfill=True)


def test_a_match_is_shown_with_its_neighbours(caller, problem) -> None:
    caller.save(name="a", threshold=0.9, backfill=True)
    event = caller.events()[0]
    assert event["link"] == f"{MATCHES}/{event['match']}"
    shown = caller.ask("GET", f"{event['link']}?context=10").json()
    text = caller.ask("GET", shown["link"]).json()["text"]
    assert (shown["before"], shown["text"], shown["after"]) == (
        text[event["start"] - 10 : event["start"]],
        text[event["start"] : event["end"]],
        text[event["end"] : event["end"] + 10],
    )
    whole = caller.ask("GET", f"{event['link']}?context=1000").json()
    assert whole["before"] + whole["text"] + whole["after"] == text
    caller.ask("DELETE", f"/collections/sample/documents/{event['document_id']}")
    problem(caller.ask("GET", event["link"]), 404, "match_not_found")
    problem(caller.ask("GET", f"{MATCHES}/99"), 404, "match_not_found")
    problem(caller.ask("GET", f"{event['link']}?context=1001"), 422, "invalid_input")
