"""Table 1 as a whole: entries, baselines, the comparison and the sweep, on encoders without weights."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import SpanBounds
from research.evaluation.scoring import Scoring
from research.evaluation.sts_b_context import Row
from research.evaluation.table1 import SWEEP, DegreeError, Entry, Table1, make_report
from tests.research.evaluating import evaluate

WORDS = ["red", "blue", "cold", "warm", "old", "new", "car", "house", "soup", "dog", "tree", "road"]
# How many words of the query the passage shares, and where, goes with the grade.
ROWS = [
    Row(
        " ".join(WORDS[row : row + 3]),
        " ".join([*WORDS[row : row + shared], "quite", "another"]),
        " ".join(["they", "saw", *WORDS[row : row + shared], "quite", "another", "and", "left", str(row)] * 2),
        float(shared) + row % 2 / 4,
    )
    for row in range(9)
    for shared in (0, 1, 2, 3)
]


@cache
def load(name: str) -> HashingEncoder:
    return HashingEncoder({"hashing": 64, "untrained": 4}[name])


def table1(rows: list[Row] = ROWS, bounds: SpanBounds | None = None, folder: Path | None = None) -> Table1:
    return Table1(rows, load, bounds or SpanBounds(), folder)


ENTRIES = [Entry("hashing", "full_context"), Entry("hashing", "single_pass")]
BASELINE = Entry("untrained", "single_pass")


def test_a_plain_report_holds_the_encoder_alone() -> None:
    report = make_report(table1(), ENTRIES, table=False, baseline=None, swept=[]).as_json()
    assert report.keys() == {"rows", "setups", "degree_errors"}
    assert report["rows"] == len(ROWS)
    expected = evaluate(load("hashing"), ROWS, ["full_context", "single_pass"])
    for setup, figures in expected.items():
        assert report["setups"][setup] == {"pearson": figures.pearson, "spearman": figures.spearman}


def test_errors_of_degrees_are_those_of_raw_and_of_score() -> None:
    steep = np.array([[0.0, 0.0], [0.5, 0.1], [1.0, 1.0]])
    report = make_report(table1(), ENTRIES, table=False, baseline=None, swept=[], default=steep)
    scores = Scoring([row.query for row in ROWS], [row.passage for row in ROWS])
    raw = (1 + scores.scores(load("hashing"), "single_pass", SpanBounds()).astype(np.float64)) / 2
    gold = np.array([row.gold for row in ROWS])
    score = np.where(raw < 0.5, raw / 5, 0.1 + 1.8 * (raw - 0.5))
    found = report.degree_errors["single_pass"]
    assert found.raw == pytest.approx(np.abs(5 * raw - gold).mean(), abs=1e-4)
    assert found.score == pytest.approx(np.abs(5 * score - gold).mean(), abs=1e-4)
    plain = make_report(table1(), ENTRIES, table=False, baseline=None, swept=[])
    assert plain.degree_errors["single_pass"] == DegreeError(found.raw, None)


def test_the_table_has_the_baselines_and_the_gold_pair_alone() -> None:
    found = make_report(table1(), ENTRIES, table=True, baseline=None, swept=[]).baselines
    assert found is not None
    untrained = ["untrained:full_context", "untrained:single_pass", "untrained:start_end"]
    assert list(found) == ["bm25", *untrained, "untrained:gold_pair", "hashing:gold_pair"]
    assert found["untrained:single_pass"] == evaluate(load("untrained"), ROWS, ["single_pass"])["single_pass"]
    bare = [Row(row.query, row.paraphrase, row.paraphrase, row.gold) for row in ROWS]
    assert found["hashing:gold_pair"] == evaluate(load("hashing"), bare, ["full_context"])["full_context"]
    assert found["bm25"].pearson > 0.5


def test_every_setup_is_compared_with_the_baseline_on_the_same_rows() -> None:
    table = table1()
    report = make_report(table, ENTRIES, table=False, baseline=BASELINE, swept=[]).as_json()
    compared = report["comparison"]
    assert compared["baseline"] == "untrained:single_pass"
    assert compared["pearson"] == table.correlations(BASELINE).pearson
    assert list(compared["setups"]) == ["full_context", "single_pass"]
    of_single_pass = compared["setups"]["single_pass"]
    difference = report["setups"]["single_pass"]["pearson"] - compared["pearson"]
    assert of_single_pass["difference"] == pytest.approx(difference, abs=2e-6)
    assert difference > 0
    assert of_single_pass["williams_p"] < 0.05
    assert of_single_pass["bootstrap_lower"] > 0


def test_an_entry_is_not_compared_with_itself() -> None:
    report = make_report(table1(), ENTRIES, table=False, baseline=ENTRIES[0], swept=[])
    assert report.comparison is not None
    assert list(report.comparison.setups) == ["single_pass"]


def test_a_sweep_is_what_separate_runs_would_give() -> None:
    swept = table1(bounds=SpanBounds(2, 9)).sweep(ENTRIES[1])
    assert tuple(swept) == SWEEP
    for longest in (5, 10, 35):
        expected = evaluate(load("hashing"), ROWS, ["single_pass"], SpanBounds(2, longest))["single_pass"]
        assert swept[longest].pearson == pytest.approx(expected.pearson, abs=1e-6)


def test_a_sweep_starts_where_there_are_spans() -> None:
    assert list(table1(bounds=SpanBounds(12, 20)).sweep(ENTRIES[1])) == [15, 20, 25, 30, 35]


def test_a_sweep_and_the_figures_share_their_forward_passes(tmp_path: Path) -> None:
    table = table1(folder=tmp_path)
    make_report(table, ENTRIES[1:], table=False, baseline=None, swept=ENTRIES[1:])
    (path,) = tmp_path.iterdir()
    assert len(path.read_text().splitlines()) == len(ROWS)


@pytest.mark.parametrize(
    ("text", "message"), [("untrained", "not ENCODER:SETUP"), ("untrained:best", "no set-up 'best'")]
)
def test_an_entry_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Entry.parse(text)
