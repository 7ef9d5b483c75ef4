"""Label candidates over HTTP: proposed, labelled, learned from."""

import pytest

from app.answers import json_values
from app.calibration.label_candidates import LabelCandidates
from tests.integration.http.conftest import read_answer

ROOT = "/admin/collections/sample/calibrations"
QUERY = "phrase=cancel+my+subscription&phrase=broken&count=40&seed=7&threshold=0.8"
PATH = "/admin/collections/sample/label-candidates"
ASK = f"{PATH}?{QUERY}"


@pytest.fixture
def admin(start, settings):
    """A client that may change the collection at will."""
    return start(settings)


@pytest.mark.smoke
def test_candidates_are_labels_that_lack_an_answer(admin) -> None:
    answer = admin.get(ASK)
    assert answer.status_code == 200, answer.text
    read = read_answer(LabelCandidates, answer)
    assert json_values(read) == answer.json()
    assert (read.seed, read.near, read.threshold.source) == (7, 0.8, "request")
    assert sum(stratum.drawn for stratum in read.strata) == len(read.candidates) > 0
    assert admin.get(ASK).json()["candidates"] == answer.json()["candidates"]
    kept = ("phrase", "span", "stratum", "probability")
    labels = [{name: row[name] for name in kept} | {"match": row["raw"] > 0.7} for row in answer.json()["candidates"]]
    said = [(f"a {n}" if n > 9 else f"b {n}", n > 9) for n in range(20)]
    texts = [{"phrase": "a", "text": text, "match": match, "probability": 0.5, "stratum": 9} for text, match in said]
    body = {"labels": labels + texts}
    made = admin.post(ROOT, body)
    assert made.status_code == 200, made.text
    report = made.json()["report"]
    assert report["weighted"] is True
    assert report["labels"] == len(body["labels"])


def test_a_filter_says_what_is_drawn_from(admin) -> None:
    answers = [admin.get(ASK + f'&filter={{"document": {{"kind": {kind}}}}}') for kind in ('"call"', '"nothing"')]
    some, none = (read_answer(LabelCandidates, answer) for answer in answers)
    everything = read_answer(LabelCandidates, admin.get(ASK))
    populations = [sum(stratum.population for stratum in read.strata) for read in (some, everything)]
    assert 0 < populations[0] < populations[1]
    assert len(some.candidates) > 0
    assert (none.strata, none.candidates) == ((), ())


def test_labels_some_of_which_have_no_probability_are_refused(admin, problem) -> None:
    texts = [{"phrase": "a", "text": f"b {n}", "match": n > 9, "probability": 0.5} for n in range(20)]
    del texts[3]["probability"]
    problem(admin.post(ROOT, {"labels": texts}), 422, "labels_refused")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "phrase"),
        ("phrase=%20", "phrase"),
        ("phrase=a&phrase=a", "phrase"),
        ("phrase=a&count=1", "count"),
        ("phrase=a&count=x", "count"),
        ("phrase=a&seed=-1", "seed"),
        ("phrase=a&threshold=1.1", "threshold"),
        ("phrase=a&threshold=nan", "threshold"),
        ("phrase=a&floor=-1", "floor"),
        ("phrase=a&mode=best", "mode"),
        ("phrase=a&colour=red", "colour"),
        ('phrase=a&filter={"kind": 1}', "kind"),
        ('phrase=a&filter={"document": {"kind": {}}}', "kind"),
    ],
)
def test_bad_queries_name_the_field(admin, problem, query, field) -> None:
    found = problem(admin.get(f"/admin/collections/sample/label-candidates?{query}"), 422, "invalid_input")
    assert field in str(found)


@pytest.mark.parametrize("filter", ["", "kind", "[]"])
def test_a_filter_that_cannot_be_read_is_refused(admin, problem, filter) -> None:
    problem(admin.get(f"/admin/collections/sample/label-candidates?phrase=a&filter={filter}"), 422, "invalid_filter")


def test_only_administrators_may(admin, make_key, problem) -> None:
    for token in (make_key("search"), make_key("index")):
        admin.headers = {"Authorization": f"Bearer {token}"}
        problem(admin.get(ASK), 403, "forbidden")
    admin.headers = {"Authorization": f"Bearer {make_key('admin', collections=['other'])}"}
    problem(admin.get(ASK), 404, "collection_not_found")


def test_unknown_collections(admin, problem) -> None:
    found = admin.get("/admin/collections/no-such/label-candidates?phrase=a")
    problem(found, 404, "collection_not_found")
