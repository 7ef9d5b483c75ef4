"""Recall, rows, tables and plots."""

import json

import numpy as np
import pytest

from models.errors import InvalidInput
from research.benchmarks.plots import save_plot, series
from research.benchmarks.recall import largest_difference, recall
from research.benchmarks.report import as_markdown, cells, headings, read_results, rich_table
from research.benchmarks.rows import Evaluator, Row

EXACT = [("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.7)]
READ = {"engine": "parallel_read", "units": 10, "bytes": 3840, "ms": 2.0, "gb_per_s": 40.0, "ms_1_thread": 3.0}
READ |= {"gb_per_s_1_thread": 20.0, "threads": 2}
REQUIRED = {"engine", "units", "recall_at_10", "p50_ms", "p99_ms", "batch32_ms_per_query", "bytes_per_unit"}
REQUIRED |= {"build_s", "peak_rss_mb"}


@pytest.mark.parametrize(
    ("found", "share"),
    [
        (EXACT, 1.0),
        (EXACT[::-1], 1.0),
        (EXACT[:2], 0.5),
        ([], 0.0),
        ([("a", 0.9), ("b", 0.8), ("x", 0.6995), ("y", 0.7005)], 1.0),  # two ties for two missing ones
        ([("a", 0.9), ("b", 0.8), ("x", 0.7), ("y", 0.6)], 0.75),
        ([("a", 0.9), ("a", 0.9), ("a", 0.9), ("a", 0.9)], 0.25),  # the same answer again is no other answer
        ([("x", 0.9), ("x", 0.9)], 0.25),
        ([("a", 0.9), ("b", 0.8), ("x", 0.8)], 0.5),  # a tie with one that was found is none with a missing one
    ],
)
def test_recall(found, share) -> None:
    assert recall(found, EXACT) == share


def test_ties_are_paired_as_often_as_can_be() -> None:
    exact = [("a", 0.5010), ("b", 0.5000)]
    assert recall([("x", 0.5009), ("y", 0.5015)], exact) == 1.0
    assert recall([("x", 0.5000)], exact) == 0.5


def test_nothing_to_find_is_all_found() -> None:
    assert recall([], []) == 1.0


def test_an_answer_too_few_is_the_largest_difference() -> None:
    assert largest_difference([0.9], [0.9, 0.8]) == 0.8
    assert largest_difference([], []) == 0.0


def test_exact_answers_have_full_marks(small) -> None:
    quality = Evaluator(small).quality("spans", small.exact_spans.tolist(), reads_vectors=True)
    assert (quality.recall, quality.agreement, quality.largest_raw_difference) == (1.0, 1.0, pytest.approx(0, abs=1e-6))


def test_worse_spans_lose_marks(small) -> None:
    elsewhere = [[[start, start + 2] for start in range(0, 500, 50)]] * len(small.queries)
    quality = Evaluator(small).quality("spans", elsewhere, reads_vectors=True)
    assert quality.recall is not None
    assert quality.recall < 0.5
    assert quality.largest_raw_difference is not None
    assert quality.largest_raw_difference > 0.01


def test_passages_are_judged_by_maxsim_and_agreement_apart(small) -> None:
    evaluator = Evaluator(small)
    every = [list(range(len(small.passage_units) - 1))] * len(small.queries)
    assert evaluator.quality("passages", every, reads_vectors=True).recall == 1.0
    assert evaluator.quality("passages", every, reads_vectors=True).agreement == 1.0
    none = [[] for _ in every]
    assert evaluator.quality("passages", none, reads_vectors=True).recall == 0.0
    assert evaluator.quality("passages", none, reads_vectors=False).recall is None
    assert evaluator.quality("passages", none, reads_vectors=False).agreement == 0.0


def test_a_row_has_the_promised_keys_and_is_json() -> None:
    row = Row("scan", 10, recall_at_10=1.0, p50_ms=0.5)
    assert row.as_json().keys() >= REQUIRED
    assert json.loads(json.dumps(row.as_json())) == row.as_json()
    assert Row("lancedb", 10, skipped="no").as_json().keys() == row.as_json().keys()


@pytest.mark.parametrize("short", [False, True])
def test_tables_have_a_cell_for_every_heading(short) -> None:
    found = cells(Row("scan", 10, recall_at_10=1.0, p50_ms=0.5).as_json(), short=short)
    assert found[:3] == ["scan", "10", "1.000"]
    assert len(found) == len(headings(short=short))


def test_tables_show_engines_and_their_notes_say_what_was_skipped() -> None:
    results = [READ, Row("scan", 10, p50_ms=0.5).as_json(), Row("lancedb", 10, skipped="absent").as_json()]
    lines = as_markdown(results).splitlines()
    assert [line.split("|")[1].strip() for line in lines[:3]] == ["engine", "---", "scan"]
    assert len({line.count("|") for line in lines[:3]}) == 1
    assert lines[4:] == [
        "- 10 units: 2 threads read the vectors in 2.00 ms (40.0 GB/s), one in 3.00 ms (20.0 GB/s).",
        "- lancedb, 10 units: absent.",
    ]
    assert rich_table(results).row_count == 1


def test_results_are_the_last_line_of_a_file(tmp_path) -> None:
    file = tmp_path / "run.json"
    file.write_text(f"said before\n{json.dumps([READ])}\n", "utf-8")
    assert read_results(file) == [READ]
    for broken in ("", "no json"):
        file.write_text(broken, "utf-8")
        with pytest.raises(InvalidInput, match="does not hold the results"):
            read_results(file)
    with pytest.raises(InvalidInput, match="does not hold the results"):
        read_results(tmp_path / "absent.json")


def test_a_plot_shows_what_was_measured(tmp_path) -> None:
    results = [READ, *(Row("scan", 10**n, p50_ms=float(n), bytes_per_unit=400).as_json() for n in (5, 4))]
    results.append(Row("lancedb", 10, skipped="absent").as_json())
    assert series(results, "p50_ms") == {"scan": [(10**4, 4.0), (10**5, 5.0)]}
    save_plot(tmp_path / "new" / "cost.svg", results)
    drawn = (tmp_path / "new" / "cost.svg").read_text("utf-8")
    assert np.all([word in drawn for word in ("<svg", "</svg>")])
