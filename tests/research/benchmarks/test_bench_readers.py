"""Bombs end within their bounds, and the readers' costs are measured."""

from pathlib import Path

import pytest

from research.benchmarks.bombs import BOMBS
from research.benchmarks.bulk_jobs import summary, write_source
from research.benchmarks.readers import Cost, detonated, measured, table

pytest.importorskip("lxml")
pytest.importorskip("openpyxl")


# The cheapest of every way; the command measures all.
@pytest.mark.parametrize(
    "name", ["far.xlsx", "repeated.ods", "blanks.odt", "entities.odt", "levels.docx", "tree.pdf", "levels.json"]
)
@pytest.mark.slow("runs a benchmark")
def test_a_bomb_ends_within_its_bounds(name: str) -> None:
    (cost,) = detonated([name])
    assert cost.is_bounded, cost


def test_a_reader_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("Where is my parcel?")
    cost = measured(path)
    assert (cost.documents, cost.words, cost.said) == (1, 4, "")
    assert cost.seconds > 0
    assert cost.peak_mb > 0
    *_, row = table([Cost("x.pdf", 1.0, 11.0, 100.0, 0, 0, "a|b")])
    assert row == "| x.pdf | 1.00 | 11.00 | 100 | 0 | 0 | a b **beyond bounds** |"
    assert len({Path(name).suffix for name in BOMBS}) > 10


def test_bulk_jobs_are_summed_up(tmp_path: Path) -> None:
    write_source(tmp_path / "x.ndjson", 3, seed=1)
    assert (tmp_path / "x.ndjson").read_text().count("\n") == 3
    kills = [
        {"lost_s": 2.0, "lost_processor_s": 1.0, "seen": 5, "kept": 5},
        {"lost_s": 4.0, "lost_processor_s": 3.0, "seen": 5, "kept": 4},
    ]
    jobs = [{"off_left": 0.1, "off_total": 0.05}, {"off_left": 0.3, "off_total": 0.1}]
    figures = summary(kills, jobs, 0.2)
    assert (figures["lost_s_worst"], figures["kept_fewer"], figures["jobs_within"]) == (4.0, 1, 1)
