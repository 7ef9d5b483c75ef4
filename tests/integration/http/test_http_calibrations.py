"""Calibrations over HTTP: learned from labels, listed, activated, deactivated, deleted."""

import json

import pytest
from typer.testing import CliRunner

from app.answers import json_values
from app.calibration.answers import CalibrationDescription, FittedCalibration
from app.cli import cli
from tests.integration.http.conftest import read_answer

ROOT = "/admin/collections/sample/calibrations"
PHRASE = "cancel my subscription"


def labels() -> list[dict[str, object]]:
    matches = [{"phrase": PHRASE, "text": f"{PHRASE} {word}", "match": True} for word in "abcdefghijkl"]
    others = [{"phrase": PHRASE, "text": f"my {word} and {word}", "degree": 1.5} for word in "abcdefghijkl"]
    span = {"document_id": "call-2", "start": 40, "end": 62}
    return [*matches, *others, {"phrase": PHRASE, "span": span, "degree": 5}]


@pytest.fixture
def admin(start, settings):
    """A client that may change the collection at will."""
    started = start(settings)
    started.delete = lambda path: started.run(started.http.delete(path, headers=started.headers))
    return started


@pytest.mark.smoke
def test_a_calibration_from_its_labels_to_its_end(admin, problem) -> None:
    before = admin.search(text=PHRASE)["hits"]
    answer = admin.post(ROOT, {"labels": labels(), "note": "by hand", "activate": True, "precision": 0.8})
    assert json_values(read_answer(FittedCalibration, answer)) == answer.json()
    made, report = answer.json()["calibration"], answer.json()["report"]
    assert (made["active"], made["note"], made["labels"], made["mode"]) == (True, "by hand", 25, "best_span")
    assert made["knots"][0] == [0, 0]
    assert made["knots"][-1] == [1, 1]
    assert made["span_units"] == {"shortest": 1, "longest": 8}
    assert (report["labels"], report["matches"]) == (25, 13)
    assert report["suggested"][0]["wish"] == "precision 0.8"
    assert report["warnings"]
    assert made["figures"]["warnings"] == report["warnings"]
    assert admin.get(ROOT).json() == {"calibrations": [made]}

    after = admin.search(text=PHRASE)
    assert after["threshold"]["calibration"] == made["id"]
    assert [hit["raw"] for hit in after["hits"]] == [hit["raw"] for hit in before]
    assert [hit["score"] for hit in after["hits"]] != [hit["score"] for hit in before]

    problem(admin.delete(f"{ROOT}/{made['id']}"), 409, "calibration_active")
    off = admin.post(f"{ROOT}/{made['id']}/deactivate", {})
    assert read_answer(CalibrationDescription, off).active is False
    assert admin.search(text=PHRASE)["hits"] == before
    assert admin.post(f"{ROOT}/{made['id']}/activate", {}).json() == made
    admin.post(f"{ROOT}/{made['id']}/deactivate", {})
    assert admin.delete(f"{ROOT}/{made['id']}").json() == {"id": made["id"], "status": "deleted"}
    problem(admin.post(f"{ROOT}/{made['id']}/activate", {}), 404, "calibration_not_found")
    assert admin.get(ROOT).json() == {"calibrations": []}


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (lambda body: body.update(labels=labels()[:19]), "labels_refused", "19 different labels"),
        (lambda body: body.update(labels=[]), "labels_refused", "0 different labels"),
        (lambda body: body["labels"].append({"phrase": "a", "text": "b"}), "labels_refused", "labels[25]"),
        (lambda body: body["labels"].append(labels()[0] | {"match": False}), "labels_refused", "contradicts labels[0]"),
        (lambda body: body["labels"][24]["span"].update(end=999), "labels_refused", "labels[24]"),
        (lambda body: body["labels"][24]["span"].update(document_id="x"), "labels_refused", "no document 'x'"),
        (lambda body: body["labels"][3].update(degree=7), "invalid_input", "labels[3].degree"),
        (lambda body: body["labels"][3].update(match="yes"), "invalid_input", "labels[3].match"),
        (lambda body: body["labels"][3].update(who="ann"), "invalid_input", "labels[3].who"),
        (lambda body: body.update(precision=0), "invalid_input", "precision"),
        (lambda body: body.update(mode="maxsim"), "mode_unavailable", "maxsim"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_and_nothing_is_kept(admin, problem, change, code, told) -> None:
    body = {"labels": labels(), "activate": True}
    change(body)
    found = problem(admin.post(ROOT, body), 422, code)
    assert told in found["detail"]
    assert admin.get(ROOT).json() == {"calibrations": []}


def test_unknown_collections_and_calibrations(admin, problem) -> None:
    problem(admin.get("/admin/collections/no-such/calibrations"), 404, "collection_not_found")
    problem(admin.post("/admin/collections/no-such/calibrations", {"labels": labels()}), 404, "collection_not_found")
    for path in (f"{ROOT}/no-such/activate", f"{ROOT}/it's/deactivate"):
        problem(admin.post(path, {}), 404, "calibration_not_found")
    problem(admin.delete(f"{ROOT}/%F0%9F%98%80"), 404, "calibration_not_found")


def exported_by_hand() -> dict[str, object]:
    units, knots = {"shortest": 1, "longest": 8}, [[0, 0], [1, 1]]
    return {"fingerprint": "f", "span_units": units, "knots": knots, "method": "isotonic", "labels": 20}


@pytest.mark.smoke
def test_only_administrators_may(admin, make_key, problem) -> None:
    elsewhere = make_key("admin", collections=["other"])
    for token in (make_key("search"), make_key("index"), elsewhere):
        refusal = (404, "collection_not_found") if token == elsewhere else (403, "forbidden")
        admin.headers = {"Authorization": f"Bearer {token}"}
        for response in (
            admin.get(ROOT),
            admin.post(ROOT, {"labels": labels()}),
            admin.post(f"{ROOT}/import", exported_by_hand()),
            admin.post(f"{ROOT}/a/activate", {}),
            admin.post(f"{ROOT}/a/deactivate", {}),
            admin.delete(f"{ROOT}/a"),
        ):
            problem(response, *refusal)


def exported(admin) -> dict[str, object]:
    """A calibration as it can be taken over."""
    made = admin.post(ROOT, {"labels": labels()}).json()["calibration"]
    kept = ("fingerprint", "span_units", "mode", "knots", "method", "labels", "note")
    return {name: made[name] for name in kept}


def test_a_calibration_is_taken_over(admin) -> None:
    taken = admin.post(f"{ROOT}/import", exported(admin) | {"activate": True, "note": "from staging"})
    assert taken.status_code == 200, taken.text
    newest, oldest = admin.get(ROOT).json()["calibrations"]
    assert newest == taken.json()
    assert (newest["knots"], newest["labels"], newest["active"]) == (oldest["knots"], 25, True)
    assert (newest["note"], oldest["active"]) == ("from staging", False)
    assert admin.search(text=PHRASE)["threshold"]["calibration"] == newest["id"]


def test_a_calibration_is_imported_as_the_command_line_lists_it(admin, settings) -> None:
    admin.post(ROOT, {"labels": labels(), "note": "by hand"})
    environment = {"SPANSEEK_DATA_DIR": str(settings.data_dir), "SPANSEEK_ENCODER": "hashing"}
    environment |= {"SPANSEEK_DATABASE_URL": settings.database_url or ""}
    printed = CliRunner().invoke(cli, ["calibrations", "list", "-c", "sample", "--json"], env=environment)
    (listed,) = json.loads(printed.stdout)
    assert admin.get(ROOT).json() == {"calibrations": [listed]}
    imported = admin.post(f"{ROOT}/import", listed)
    assert imported.status_code == 200, imported.text
    own = ("id", "created_at")
    assert [{**made, **dict.fromkeys(own)} for made in (imported.json(), listed)] == [listed | dict.fromkeys(own)] * 2


@pytest.mark.parametrize(
    ("change", "status", "code", "told"),
    [
        ({"fingerprint": "slice.v1"}, 409, "calibration_mismatch", "made for slice.v1"),
        ({"span_units": {"shortest": 1, "longest": 9}}, 409, "calibration_mismatch", "spans of 1 to 9 units"),
        ({"span_units": {"shortest": 9, "longest": 8}}, 422, "invalid_input", "1 <= shortest <= longest"),
        ({"mode": "maxsim"}, 422, "mode_unavailable", "maxsim"),
        ({"knots": [[0, 0], [0.6, 0.7], [0.7, 0.6], [1, 1]]}, 422, "invalid_input", "knot 3 does not rise"),
        ({"knots": [[0, 0], [1, 0.9]]}, 422, "invalid_input", "last one (1, 1)"),
        ({"knots": [[0, 0], [1, 1, 1]]}, 422, "invalid_input", "knots[1]"),
        ({"knots": [[0, 0], [2, 2]]}, 422, "invalid_input", "knots[1][0]"),
        ({"method": "guessed"}, 422, "invalid_input", "method"),
    ],
)
def test_another_ones_calibration_is_refused(admin, problem, change, status, code, told) -> None:
    body = exported(admin) | {"activate": True} | change
    assert told in problem(admin.post(f"{ROOT}/import", body), status, code)["detail"]
    assert [one["active"] for one in admin.get(ROOT).json()["calibrations"]] == [False]
