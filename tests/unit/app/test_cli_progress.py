"""Progress: a bar on a terminal, a line a minute elsewhere."""

import io
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from app.cli.progress import IndexingProgress, indexing_progress
from indexer.indexing.pipeline import IndexReport


@dataclass
class HalfRead:
    """A source of which half has been read."""

    total_bytes: int = 200
    read_bytes: int = 100


def test_a_line_a_minute_without_a_terminal() -> None:
    written = io.StringIO()
    times = iter([0.0, 59.0, 61.0, 61.0, 100.0, 122.0, 122.0])
    with indexing_progress(HalfRead(), Console(file=written), lambda: next(times)) as progress:
        report = IndexReport(documents=1000, unchanged=234, read=9, passed=9)
        progress.indexing(report)
        assert written.getvalue() == ""
        progress.indexing(report)
        assert list(progress.sampling("ab")) == ["a", "b"]
    assert written.getvalue() == "index: 50%, 1,234 documents, 0 units, 0 units/s\nsample: 50%, 2 documents read\n"


def test_a_bar_on_a_terminal_shows_the_sample_first() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system=None, width=100)
    with indexing_progress(HalfRead(), console) as progress:
        assert list(progress.sampling(range(3))) == [0, 1, 2]
        progress.indexing(IndexReport(documents=7, read=70, encoded=70))
    shown = written.getvalue()
    assert "50 % 3 documents read" in shown
    assert "50 % 7 documents" in shown
    assert shown.index("sample") < shown.index("index")


@dataclass
class Reading:
    """A source in the midst of being read."""

    total_bytes: int
    read_bytes: int = 0


@given(
    documents=st.lists(st.integers(1, 2_000), min_size=60, max_size=200),
    ahead=st.integers(1, 12),
    unchanged=st.floats(0, 0.5),
    start_s=st.floats(0, 30),
)
def test_the_time_left_holds_from_a_tenth_of_the_job_on(
    documents: list[int], ahead: int, unchanged: float, start_s: float
) -> None:
    """Characters take a millisecond each, the first ones longer; a part of the documents needs no encoding."""
    now, shown = 0.0, ""
    source, report = Reading(sum(documents)), IndexReport()

    def show(step: str, share: float, detail: str) -> None:
        nonlocal shown
        shown = detail

    progress = IndexingProgress(source, show, lambda: now)
    skipped = int(unchanged * len(documents))
    seconds = 0.001 * sum(documents[skipped:])
    for number, size in enumerate(documents):
        report.read = source.read_bytes = sum(documents[: number + ahead])
        report.documents = number + 1
        if number < skipped:
            report.passed += size
            continue
        report.encoded += size
        now += 0.001 * size + (start_s if number == skipped else 0)
        progress.indexing(report)
        left = seconds - 0.001 * sum(documents[skipped : number + 1])
        if number >= skipped + 0.1 * (len(documents) - skipped) and number > skipped:
            assert progress.seconds_left(report) == pytest.approx(left, rel=0.2, abs=0.01)
            assert "left" in shown
