"""The rows of STS-B-Context, and the figures of an encoder on them."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import SpanBounds
from research.evaluation.setups import SETUPS
from research.evaluation.sts_b_context import Row, half_of, read_rows
from tests.research.evaluating import evaluate

ROWS = [
    Row("red car", "a red car", "They saw a red car leave.", 4.0),
    Row("old house", "cold soup", "Nobody wants cold soup, she said.", 0.5),
    Row("the dog ran", "the dog fled", "At noon the dog fled from home.", 3.0),
]


@pytest.mark.parametrize("longest", [1, 3, 20])
def test_figures_are_correlations_of_the_best_span_with_the_gold(longest: int) -> None:
    found = evaluate(HashingEncoder(), ROWS, bounds=SpanBounds(1, longest))
    assert list(found) == ["full_context", "ngram_forward", "single_pass"]
    queries, passages, gold = zip(*((row.query, row.passage, row.gold) for row in ROWS), strict=True)
    for setup, figures in found.items():
        scores = np.nanmax(SETUPS[setup].best(HashingEncoder(), queries, passages, longest), axis=1)
        assert figures.pearson == pytest.approx(np.corrcoef(scores, gold)[0, 1], abs=1e-5)


def test_without_context_in_the_vectors_both_ngram_setups_agree() -> None:
    found = evaluate(HashingEncoder(), ROWS)
    assert found["single_pass"].pearson == pytest.approx(found["ngram_forward"].pearson, abs=1e-5)
    assert found["single_pass"].pearson != pytest.approx(found["full_context"].pearson, abs=1e-3)


def test_one_setup_can_be_run_alone_and_an_unknown_one_is_refused() -> None:
    assert list(evaluate(HashingEncoder(), ROWS, ["single_pass"])) == ["single_pass"]
    with pytest.raises(InvalidInput, match="no set-up 'other'"):
        evaluate(HashingEncoder(), ROWS, ["other"])


def test_halves_make_up_the_whole() -> None:
    assert [*half_of(ROWS, "first"), *half_of(ROWS, "second")] == half_of(ROWS, None) == ROWS
    named = [replace(row, id=str(number)) for number, row in enumerate(ROWS * 4)]
    halves = half_of(named, "chooses"), half_of(named, "reported")
    assert all(halves)
    assert sorted((*halves[0], *halves[1]), key=named.index) == named
    assert len(half_of(ROWS * 2, "first")) == 3


def test_rows_are_read_with_quotes(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text('\tline\tparaphrase\tpassage\tgoldsim\n7\ta\tb\t"say ""b"""\t2.5\n')
    assert read_rows(path) == [Row("a", "b", 'say "b"', 2.5, "7")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("line\tpassage\n", "goldsim, paraphrase"),
        ("", "goldsim, line, paraphrase, passage"),
        ("line\tparaphrase\tpassage\tgoldsim\na\tb\tc\thigh\n", "without a similarity: 'a'"),
        ("line\tparaphrase\tpassage\tgoldsim\na\tb\n", "without a similarity: 'a'"),
        ("line\tparaphrase\tpassage\tgoldsim\na\tb\tc\tnan\n", "without a similarity: 'a'"),
    ],
)
def test_what_is_no_such_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_rows(path)


def test_a_file_in_gzip_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_bytes(gzip.compress(b"line\tparaphrase\tpassage\tgoldsim\n"))
    with pytest.raises(InvalidInput, match=r"rows\.tsv cannot be read"):
        read_rows(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no file .*rows\.tsv"):
        read_rows(tmp_path / "rows.tsv")
