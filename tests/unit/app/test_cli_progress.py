"""Progress: a bar on a terminal, a line a minute elsewhere."""

import io
from dataclasses import dataclass

from rich.console import Console

from app.cli.progress import indexing_progress
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
        report = IndexReport(documents=1000, unchanged=234)
        progress.indexing(report)
        assert written.getvalue() == ""
        progress.indexing(report)
        assert list(progress.sampling("ab")) == ["a", "b"]
    assert written.getvalue() == "index: 50%, 1,234 documents, 0 units/s\nsample: 50%, 2 documents read\n"


def test_a_bar_on_a_terminal_shows_the_sample_first() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system=None, width=100)
    with indexing_progress(HalfRead(), console) as progress:
        assert list(progress.sampling(range(3))) == [0, 1, 2]
        progress.indexing(IndexReport(documents=7))
    shown = written.getvalue()
    assert "50 % 3 documents read" in shown
    assert "50 % 7 documents" in shown
    assert shown.index("sample") < shown.index("index")
