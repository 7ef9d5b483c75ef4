"""Previews, labels, calibrations and thresholds from the command line."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.calibration.label_files import read_label_rows, read_labels
from tests.e2e.commands import Outcome, Run


def test_preview(calls: Outcome, run: Run, tmp_path: Path) -> None:
    phrase = ("preview", "cancel my subscription", "-c", "calls")
    plot = tmp_path / "plots" / "preview.svg"
    found = run(*phrase, "parcel", "--threshold", "0.9", "--floor", "0.2", "--plot", str(plot), "--json").json
    first, second = found["phrases"]
    assert (first["documents"], first["spans"], first["with_spans"]) == (1, 1, 2)
    assert (second["phrase"], second["documents"]) == ("parcel", 1)
    assert "best score of a document" in plot.read_text("utf-8")
    shown = run(*phrase, "--threshold", "0.9").out
    assert "cancel my subscription: 2 documents" in shown
    assert "1 of them reaches 0.900 on score, in 1 span." in shown
    assert "1.000  just above  cancel my subscription  b [/red]" in shown
    assert "just below" in shown
    assert "\u2028" not in shown
    narrowed = run(*phrase, "--where", "lang=en", "--where-part", "speaker=agent", "--json").json
    assert narrowed["phrases"][0]["with_spans"] == 0
    assert run(*phrase, "--plot", "preview.exe").code == 1
    assert run(*phrase, "--floor", "2").code == 2
    assert run(*phrase, "--floor", "nan").code == 2


@pytest.fixture
def labels(data: Path) -> Path:
    """Labels of a phrase, the first half of which are matches."""
    words = "abcdefghijkl"
    lines = [{"phrase": "cancel my plan", "text": f"cancel my plan {word}", "match": True} for word in words]
    lines += [{"phrase": "cancel my plan", "text": f"my {word} and {word}", "degree": 1} for word in words]
    path = data.parent / "labels.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_calibrate(calls: Outcome, labels: Path, run: Run, tmp_path: Path) -> None:
    plot = tmp_path / "plots" / "calibration.svg"
    command = ("calibrate", "-c", "calls", "--labels", str(labels), "--precision", "0.8")
    made = run(*command, "--activate", "--plot", str(plot), "--note", "by hand", "--json").json
    assert made["calibration"]["active"] is True
    assert (made["report"]["labels"], made["report"]["matches"]) == (24, 12)
    assert "reliability" in plot.read_text("utf-8")
    answer = run("search", "my parcel", "-c", "calls", "--json").json
    assert answer["threshold"]["calibration"] == made["calibration"]["id"]
    assert answer["hits"][-1]["score"] != answer["hits"][-1]["raw"]
    on_raw = ("preview", "my parcel", "-c", "calls", "--threshold", "0.3", "--threshold-on", "raw")
    examples = run(*on_raw, "--json").json["phrases"][0]["above"]
    assert examples[0]["score"] != examples[0]["raw"]
    assert f"{examples[0]['raw']:.3f}  just above" in run(*on_raw).out
    shown = run(*command)
    assert "24 labels, 12 of them matches." in shown.out
    assert "precision 0.8" in shown.out
    assert "is stored, but not active." in shown.out
    assert "There are only 12 matches" in shown.err
    kept, first = run("calibrations", "list", "-c", "calls", "--json").json
    assert (first["id"], first["active"], first["note"]) == (made["calibration"]["id"], True, "by hand")
    assert f"spanseek calibrations activate {kept['id']} -c calls" in shown.out
    assert run("calibrations", "activate", kept["id"], "-c", "calls").code == 0
    assert run("search", "my parcel", "-c", "calls", "--json").json["threshold"]["calibration"] == kept["id"]
    refused = run("calibrations", "delete", kept["id"], "-c", "calls")
    assert (refused.code, "is the active one" in refused.err) == (1, True)
    assert run("calibrations", "deactivate", kept["id"], "-c", "calls").code == 0
    assert run("calibrations", "delete", kept["id"], "-c", "calls").code == 0
    assert "by hand" in run("calibrations", "list", "-c", "calls").out
    assert run("calibrations", "activate", kept["id"], "-c", "calls").code == 1
    run("calibrations", "delete", first["id"], "-c", "calls")
    assert "score equals raw" in run("calibrations", "list", "-c", "calls").out


def test_label_candidates(calls: Outcome, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "labels.ndjson"
    command = (
        "labels",
        "propose",
        "my parcel",
        "call",
        "-c",
        "calls",
        "--out",
        str(path),
        "--count",
        "20",
        "--seed",
        "5",
    )
    told = run(*command, "--json").json
    assert (told["seed"], told["near"]) == (5, 0.8)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(rows) == sum(stratum["drawn"] for stratum in told["strata"]) > 0
    assert all(row["match"] is None and 0 < row["probability"] <= 1 for row in rows)
    shown = run(*command)
    assert f"{len(rows)} label candidates written to" in shown.out.replace("\n", " ")
    assert run("labels", "propose", "my parcel", "-c", "calls", "--out", "labels.txt").code == 1
    assert run("labels", "propose", "my parcel", "-c", "calls", "--out", str(path), "--count", "3").code == 1


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            '{"phrase": "a", "text": "b", "match": true}\n{broken\n',
            "labels.ndjson:2 is not a valid label: ",
        ),
        ('{"phrase": "a", "text": "b", "match": true}\n', "1 different labels are too few"),
    ],
)
def test_labels_that_are_refused(calls: Outcome, labels: Path, run: Run, lines: str, told: str) -> None:
    labels.write_text(lines)
    outcome = run("calibrate", "-c", "calls", "--labels", str(labels), "--activate")
    assert (outcome.code, outcome.out) == (1, "")
    assert told in outcome.err
    assert run("search", "my parcel", "-c", "calls", "--json").json["threshold"]["calibration"] is None


def test_thresholds_are_set_shown_and_taken_back(calls: Outcome, run: Run) -> None:
    command = ("thresholds", "set", "-c", "calls")
    assert "The threshold of calls for mode best_span is 0.9000 on score" in run(*command, "0.9", "--note", "audit").out
    made = run(*command, "0.8", "--threshold-on", "raw", "--json").json
    assert made["threshold"] == made["as_set"] == {"value": 0.8, "on": "raw", "raw": 0.8, "calibration": None}
    assert run("thresholds", "get", "-c", "calls", "--json").json["thresholds"][0] == made
    assert run("search", "my parcel", "-c", "calls", "--json").json["threshold"]["value"] == 0.8
    assert "0.8000 on raw" in run("thresholds", "get", "-c", "calls").out
    assert "is 0.9000 on score" in run("thresholds", "undo", "-c", "calls", "--note", "too many").out
    assert run("thresholds", "undo", "-c", "calls", "--json").json["threshold"] is None
    history = run("thresholds", "history", "-c", "calls", "--json").json["changes"]
    assert [(each["undo"], each["note"]) for each in history] == [
        (True, ""), (True, "too many"), (False, ""), (False, "audit"),
    ]  # fmt: skip
    assert (history[1]["from"]["value"], history[1]["to"]["value"], history[3]["from"]) == (0.8, 0.9, None)
    assert "undo. too many" in run("thresholds", "history", "-c", "calls").out
    assert "calls has no threshold for mode best_span." in run(*command, "none").out


def test_thresholds_of_a_saved_phrase(calls: Outcome, run: Run) -> None:
    run("phrases", "add", "my parcel", "-c", "calls", "--name", "parcel")
    command = ("thresholds", "set", "-c", "calls", "--phrase", "parcel")
    assert "it matches nothing" in run("thresholds", "get", "-c", "calls", "--phrase", "parcel").out
    assert "The phrase parcel has the threshold 0.9000 on score" in run(*command, "0.9").out
    assert run(*command, "0.7", "--json").json["applies"] == {"value": 0.7, "on": "score", "source": "phrase"}
    assert run("thresholds", "undo", "-c", "calls", "--phrase", "parcel", "--json").json["threshold"]["value"] == 0.9
    changes = run("thresholds", "history", "-c", "calls", "--phrase", "parcel", "--json").json["changes"]
    assert [each["to"]["value"] for each in changes] == [0.9, 0.7, 0.9]
    run("thresholds", "set", "0.5", "-c", "calls")
    assert "the collection's applies, 0.5000" in run(*command, "none").out


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("set 1.5", "A threshold cannot be 1.5."),
        ("set nan", "A threshold cannot be nan."),
        ("set high", "A threshold cannot be 'high'."),
        ("set 0.5 --mode maxsim", "cannot be searched in mode maxsim"),
        ("set 0.5 --phrase none", "has no phrase 'none'"),
        ("set 0.5 --phrase none --mode best_span", "whatever the mode"),
        ("undo", "no change of the threshold"),
        ("undo --phrase none --mode best_span", "whatever the mode"),
        ("history --phrase none", "has no phrase 'none'"),
        ("get --phrase none", "has no phrase 'none'"),
    ],
)
def test_thresholds_that_are_refused(calls: Outcome, run: Run, command: str, told: str) -> None:
    refused = run("thresholds", *command.split(), "-c", "calls")
    assert (refused.code, refused.out, told in refused.err) == (1, "", True)
    assert run("thresholds", "history", "-c", "calls").out == "The threshold was never set.\n"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Keys that are piped into the command."""
    return lambda keys: monkeypatch.setattr(sys, "stdin", io.StringIO(keys))


@pytest.mark.parametrize("name", ["labels.csv", "labels.ndjson"])
def test_label_in_the_terminal(
    calls: Outcome, run: Run, tmp_path: Path, name: str, typed: Callable[[str], None]
) -> None:
    path = tmp_path / name
    phrases = ("my parcel", "call", "subscription")
    run("labels", "propose", *phrases, "-c", "calls", "--out", str(path), "--count", "20")
    total = len(read_label_rows(path))
    refused = run("calibrate", "-c", "calls", "--labels", str(path))
    assert f"None of the {total} candidates in {name} is labelled." in refused.err
    assert f"spanseek label {path}" in refused.err
    typed("u?y n\nu s yq")
    shown = run("label", str(path))
    assert shown.code == 0
    assert "There is nothing to undo." in shown.out
    assert "Press one of" in shown.out
    assert f"1 of {total}" in shown.out
    assert "[[" in shown.out
    assert f"2 of {total} labelled in" in shown.out
    assert [label.is_match for label in read_labels(path)] == [True, True]
    typed("n" * total)
    resumed = run("label", str(path)).out
    assert f"3 of {total}" in resumed
    assert f"{total} of {total} labelled in" in resumed
    rows = read_label_rows(path)
    assert [row.is_answered for row in rows] == [True] * total
    assert [label.is_match for label in read_labels(path)].count(True) == 2
    typed("")
    assert f"{total} of {total} labelled" in run("label", str(path)).out


def test_the_label_file_has_the_span_marked_on_one_line(run: Run, data: Path, tmp_path: Path) -> None:
    text = "Where is\n\nmy parcel?\r\nIt was due, said the [[driver]], on Monday."
    (tmp_path / "c.ndjson").write_text(json.dumps({"id": "a", "text": text}) + "\n")
    run("index", "-c", "calls", "--source", "c.ndjson")
    path = tmp_path / "labels.csv"
    run("labels", "propose", "my parcel", "-c", "calls", "--out", str(path), "--count", "20")
    (row,) = read_label_rows(path)
    assert len(path.read_text("utf-8").splitlines()) == 2
    assert row.values["context"] == "Where is [[my parcel]]? It was due, said the [[driver]], on Monday."
    assert row.values["says"] == "my parcel"


def test_a_file_that_cannot_be_labelled(run: Run, tmp_path: Path) -> None:
    missing = run("label", str(tmp_path / "nowhere.csv"))
    assert (missing.code, "nowhere.csv cannot be read" in missing.err) == (1, True)
