"""Skipped records: twenty are printed, all are in a file."""

import json
from pathlib import Path

import pytest

from app.cli.reading import Skipped
from indexer.sources import BadRecord


def bad(number: int, *, lost: bool = True) -> BadRecord:
    return BadRecord(f"x.ndjson:{number}", "not valid JSON", lost=lost)


def test_many_are_counted_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.skipped.ndjson"
    with Skipped(None, path) as skipped:
        for number in range(1, 100_001):
            skipped(bad(number))
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if line.startswith("skipped x.ndjson")]) == 20
    assert lines[-1] == f"Skipped 99,980 more records. All skipped records are in {path}."
    written = path.read_text().splitlines()
    assert len(written) == 100_000
    assert json.loads(written[-1]) == {"where": "x.ndjson:100000", "reason": "not valid JSON", "lost": True}


def test_few_are_written_where_a_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, otherwise = tmp_path / "report.ndjson", tmp_path / "other.ndjson"
    with Skipped(path, otherwise) as skipped:
        skipped(bad(1, lost=False))
        assert not skipped.loses_text
        skipped(bad(2))
    assert skipped.loses_text
    assert len(path.read_text().splitlines()) == 2
    assert not otherwise.exists()
    with Skipped(None, otherwise) as few:
        few(bad(1))
    assert not otherwise.exists()
    assert "All skipped records are in" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_does_not_end_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Skipped(tmp_path / "no" / "report.ndjson", tmp_path / "x") as skipped:
        for number in range(30):
            skipped(bad(number))
    said = capsys.readouterr().err
    assert "cannot be written" in said
    assert "Skipped 10 more records." in said
