"""Scores are computed once, kept, and found again; whatever a kill left of the file."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import SpanBounds
from research.evaluation.score_cache import KeptScores, row_key
from research.evaluation.scoring import GROUP, Scoring
from research.evaluation.setups import SETUPS

TEXT = "a red car left the old house and the dog fled from home when cold soup was all there was to eat"
WORDS = TEXT.split()
QUERIES = [" ".join(WORDS[row % 15 : row % 15 + 2]) for row in range(GROUP + 4)]
PASSAGES = [" ".join([*WORDS[row % 7 : row % 7 + 9], str(row)]) for row in range(GROUP + 4)]


class CountingEncoder(HashingEncoder):
    """Counts the batches it was given, and breaks off when it has had its fill."""

    def __init__(self, dim: int = 64, fill: int = 10**9) -> None:
        super().__init__(dim)
        self.batches, self._fill = 0, fill

    def forward(self, batches: Iterable[Sequence[np.ndarray]]) -> Iterator[list[np.ndarray]]:
        for batch in super().forward(batches):
            self.batches += 1
            if self.batches > self._fill:
                raise KeyboardInterrupt
            yield batch


def expected(setup: str, bounds: SpanBounds) -> np.ndarray:
    best = SETUPS[setup].best(HashingEncoder(), QUERIES, PASSAGES, bounds.longest)
    return np.nanmax(best[:, bounds.shortest - 1 :], axis=1)


@pytest.mark.parametrize("bounds", [SpanBounds(), SpanBounds(3, 5), SpanBounds(2, 2)])
@pytest.mark.parametrize("setup", ["ngram_forward", "single_pass", "start_end"])
def test_a_score_is_the_best_of_the_spans_within_bounds(setup: str, bounds: SpanBounds) -> None:
    found = Scoring(QUERIES, PASSAGES).scores(HashingEncoder(), setup, bounds)
    np.testing.assert_allclose(found, expected(setup, bounds), atol=1e-6)


@pytest.mark.parametrize("bounds", [SpanBounds(), SpanBounds(1, 3)])
def test_a_span_shorter_than_the_query_is_discounted(bounds: SpanBounds) -> None:
    by_length = SETUPS["single_pass"].best(HashingEncoder(), QUERIES, PASSAGES, bounds.longest)
    expected_scores = [
        max(
            cosine - 0.5 * max(0.0, math.log(len(query.split()) / length))
            for length, cosine in enumerate(best, start=1)
            if length >= bounds.shortest and not math.isnan(cosine)
        )
        for query, best in zip(QUERIES, by_length.tolist(), strict=True)
    ]
    scores = Scoring(QUERIES, PASSAGES, discount=0.5).scores(HashingEncoder(), "single_pass", bounds)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-6)
    assert (scores != expected("single_pass", bounds)).any()
    whole = Scoring(QUERIES, PASSAGES, discount=0.5).scores(HashingEncoder(), "full_context", bounds)
    np.testing.assert_allclose(whole, expected("full_context", SpanBounds(1, 1)), atol=1e-6)


def test_bounds_do_not_concern_the_full_context() -> None:
    found = Scoring(QUERIES, PASSAGES).scores(HashingEncoder(), "full_context", SpanBounds(7, 9))
    np.testing.assert_allclose(found, expected("full_context", SpanBounds(1, 1)), atol=1e-6)


def test_shorter_spans_come_with_longer_ones_and_longer_ones_are_computed_anew() -> None:
    encoder, scoring = CountingEncoder(), Scoring(QUERIES, PASSAGES)
    scoring.scores(encoder, "single_pass", SpanBounds(1, 5))
    encoder.batches = 0
    np.testing.assert_allclose(
        scoring.scores(encoder, "single_pass", SpanBounds(2, 3)), expected("single_pass", SpanBounds(2, 3)), atol=1e-6
    )
    assert encoder.batches == 0
    longer = scoring.scores(encoder, "single_pass", SpanBounds(6, 8))
    assert encoder.batches > 0
    np.testing.assert_allclose(longer, expected("single_pass", SpanBounds(6, 8)), atol=1e-6)


def test_another_run_reads_what_was_kept_to_the_last_bit(tmp_path: Path) -> None:
    first = Scoring(QUERIES, PASSAGES, tmp_path).scores(HashingEncoder(), "ngram_forward", SpanBounds())
    encoder = CountingEncoder()
    # In another order, and a part of them: rows are known by their texts.
    some = [7, 2, GROUP + 1]
    again = Scoring([QUERIES[row] for row in some], [PASSAGES[row] for row in some], tmp_path)
    np.testing.assert_array_equal(again.scores(encoder, "ngram_forward", SpanBounds()), first[some])
    assert encoder.batches == 0


def test_an_interrupted_run_is_gone_on_with(tmp_path: Path) -> None:
    whole = CountingEncoder()
    Scoring(QUERIES, PASSAGES).scores(whole, "single_pass", SpanBounds())
    broken = CountingEncoder(fill=whole.batches - 1)
    with pytest.raises(KeyboardInterrupt):
        Scoring(QUERIES, PASSAGES, tmp_path).scores(broken, "single_pass", SpanBounds())
    rest = CountingEncoder()
    found = Scoring(QUERIES, PASSAGES, tmp_path).scores(rest, "single_pass", SpanBounds())
    np.testing.assert_allclose(found, expected("single_pass", SpanBounds()), atol=1e-6)
    assert rest.batches == whole.batches / 2  # of two groups the first was kept


def test_encoders_and_setups_have_files_of_their_own(tmp_path: Path) -> None:
    scoring = Scoring(QUERIES, PASSAGES, tmp_path)
    found = [
        scoring.scores(HashingEncoder(dim), setup, SpanBounds())
        for dim in (8, 64)
        for setup in ("full_context", "single_pass")
    ]
    assert len(list(tmp_path.iterdir())) == 4
    assert all(np.abs(one - other).max() > 0.01 for one, other in pairwise(found))


def test_a_line_cut_short_is_done_again(tmp_path: Path) -> None:
    before = Scoring(QUERIES, PASSAGES, tmp_path).scores(HashingEncoder(), "single_pass", SpanBounds())
    (path,) = tmp_path.iterdir()
    body = path.read_bytes()
    for cut in (1, 5, 60):
        path.write_bytes(body[:-cut])
        for _ in range(2):
            after = Scoring(QUERIES, PASSAGES, tmp_path).scores(HashingEncoder(), "single_pass", SpanBounds())
            np.testing.assert_array_equal(after, before)
        encoder = CountingEncoder()
        Scoring(QUERIES, PASSAGES, tmp_path).scores(encoder, "single_pass", SpanBounds())
        assert encoder.batches == 0


def test_the_file_holds_no_text(tmp_path: Path) -> None:
    Scoring(QUERIES, PASSAGES, tmp_path).scores(HashingEncoder(), "single_pass", SpanBounds())
    (path,) = tmp_path.iterdir()
    assert "house" not in path.read_text()
    assert "NaN" not in path.read_text()


def test_kept_scores_of_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "scores.ndjson"
    kept = KeptScores(path)
    assert not kept.has("a", 1)
    kept.add(["a", "b"], np.array([[0.1, np.nan], [1 / 3, -1.0]]))
    kept.add(["b"], np.array([[0.5, 0.25, 0.125]]))
    read = KeptScores(path)
    np.testing.assert_array_equal(read.matrix(["b", "a"], 2), [[0.5, 0.25], [0.1, np.nan]])
    assert (read.has("b", 3), read.has("a", 3)) == (True, False)
    assert read.matrix([], 2).shape == (0, 2)


def test_a_row_is_known_by_both_of_its_texts() -> None:
    assert len({row_key("a", "b"), row_key("b", "a"), row_key("a", "b "), row_key("a b", "")}) == 4
    assert row_key("a", "b") == row_key("a", "b")


def test_what_is_done_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    rows = len(QUERIES)
    scoring = Scoring(QUERIES, PASSAGES, tell=lambda *state: told.append(state))
    scoring.scores(HashingEncoder(), "single_pass", SpanBounds())
    assert told == [("single_pass", done, rows) for done in (0, GROUP, rows)]


def test_passages_too_short_for_the_bounds_are_counted() -> None:
    scoring = Scoring(["a", "b", "c"], ["a b", "b", "c d e"])
    with pytest.raises(InvalidInput, match="2 passages have fewer than 3 units") as refused:
        scoring.scores(HashingEncoder(), "single_pass", SpanBounds(3, 5))
    assert "--min-span" in refused.value.hint


def test_an_unknown_setup_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no set-up 'other'"):
        Scoring(["a"], ["a"]).scores(HashingEncoder(), "other", SpanBounds())
