"""``spanseek spans``: from a file to spans, without a collection."""

from pathlib import Path

import pytest

from tests.e2e.commands import Run

PHRASE = "cancel my subscription"


def test_spans_are_shown_text_by_text(run: Run, data: Path) -> None:
    outcome = run("spans", PHRASE, "--source", "calls.ndjson", "--threshold", "0.9")
    assert "[[cancel my subscription]]" in outcome.out
    assert "1 span of 2 texts." in outcome.out
    assert "\x1b" not in outcome.out
    assert "[/red]  [10, 32)" in outcome.out
    # The broken line is named, and the exit status says so.
    assert "skipped calls.ndjson:3" in outcome.err
    assert "1 record could not be read." in outcome.err
    assert outcome.code == 1
    assert not data.exists()


def test_several_phrases_are_shown_each_with_its_spans(run: Run) -> None:
    phrases = (PHRASE, "where is my parcel")
    outcome = run("spans", *phrases, "--source", "calls.ndjson", "--limit", "1", "--threshold", "0.9")
    lines = outcome.out.splitlines()
    assert lines.index("where is my parcel") < lines.index(PHRASE)
    assert "2 spans of 2 texts." in lines


def test_the_answer_as_json(run: Run) -> None:
    options = ("--limit", "1", "--boundaries", "part", "--explain", "--json")
    outcome = run("spans", PHRASE, "--source", "calls.ndjson", *options)
    first, second = outcome.json["results"]
    assert (first["id"], second["id"]) == ("a", "b\u2028[/red]")
    (hit,) = second["hits"]
    assert hit["text"] == "I want to cancel my subscription \x1b[31mtoday"
    assert hit["part_metadata"] == {"speaker": "customer"}
    assert hit["explanation"]["units"]
    assert "context" not in hit


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--max-units", "65"], "cannot have 1 to 65 units"),
        (["--encoder", "none-such"], "none-such"),
    ],
)
def test_what_cannot_be_searched_is_refused(run: Run, arguments: list[str], error: str) -> None:
    outcome = run("spans", PHRASE, "--source", "calls.ndjson", *arguments)
    assert outcome.code == 1
    assert error in outcome.err


def test_a_source_that_is_not_there(run: Run) -> None:
    outcome = run("spans", PHRASE, "--source", "no-such.ndjson")
    assert outcome.code == 1
    assert "no-such.ndjson" in outcome.err
