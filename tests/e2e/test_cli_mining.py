"""``spanseek mine``: from a file of phrases to tables."""

import csv
import json
from pathlib import Path

import pytest

from tests.e2e.commands import Run


@pytest.fixture
def indexed(run: Run) -> Run:
    run("index", "--collection", "calls", "--source", "calls.ndjson")
    Path("phrases.txt").write_text("cancel my subscription\nCancel my subscription!\nwhere is my parcel\n")
    return run


MINE = ("mine", "--phrases", "phrases.txt", "--collection", "calls", "--threshold", "0.9", "--out", "mined")


def test_tables_are_written_to_a_new_folder(indexed: Run) -> None:
    outcome = indexed(*MINE, "--by", "part.speaker", "--format", "csv")
    assert outcome.code == 0, outcome.err
    assert "3 hits of 3 phrases written to mined." in outcome.out
    assert "Near-copies among the phrases: 1." in outcome.out
    with Path("mined/counts.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [(row["phrase"], row["key"], row["value"], row["hits"]) for row in csv.DictReader(file)]
    assert ("cancel my subscription", "part.speaker", "customer", "1") in rows
    assert {path.name for path in Path("mined").iterdir()} == {"hits.csv", "counts.csv", "copies.csv"}
    again = indexed(*MINE)
    assert again.code == 2
    assert "name a new folder" in again.err


def test_the_outcome_as_json(indexed: Run) -> None:
    outcome = indexed(*MINE, "--json")
    assert (outcome.json["hits"], outcome.json["copies"], outcome.json["incomplete"]) == (3, 1, 0)
    with Path(outcome.json["files"][0]).open() as lines:
        assert [json.loads(line)["document_id"] for line in lines] == ["b\u2028[/red]", "b\u2028[/red]", "a"]


def test_what_fails_leaves_no_folder(indexed: Run) -> None:
    Path("phrases.txt").write_text("word " * 2_000)
    outcome = indexed(*MINE)
    assert outcome.code == 1
    assert outcome.err
    assert not Path("mined").exists()
