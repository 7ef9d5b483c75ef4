"""Windows cover a part, keep every unit once, and keep it where it is most central."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import InvalidDocument
from indexer.indexing.windows import plan
from models.text.tokens import Tokens, UnitTokens
from tests import reference


def units_of(sizes: list[int], shared: list[bool]) -> UnitTokens:
    """Units of so many tokens; where ``shared`` says so, a unit begins with the last token of the one before."""
    last = np.zeros(len(sizes), np.int64)
    first = np.zeros(len(sizes), np.int64)
    at = 0
    for unit, size in enumerate(sizes):
        first[unit] = at - 1 if unit and shared[unit] else at
        last[unit] = at = first[unit] + size
    spans = np.stack([np.arange(len(sizes)), np.arange(1, len(sizes) + 1)], axis=1).astype(np.int64)
    tokens = Tokens(np.arange(at, dtype=np.int32), np.zeros((at, 2), np.int64), np.zeros(at, bool))
    return UnitTokens(spans, first, last, np.zeros(len(sizes), bool), tokens, np.zeros(at, np.int64))


@st.composite
def planned(draw):
    limit = draw(st.integers(1, 40))
    sizes = draw(st.lists(st.integers(1, limit), max_size=120))
    shared = draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    overlap = draw(st.integers(0, 64))
    return units_of(sizes, shared), limit, overlap


@given(planned())
def test_windows_keep_every_unit_once_and_within_limits(drawn) -> None:
    joined, limit, overlap = drawn
    windows = list(plan(joined, limit, overlap))
    assert reference.windows_cover([(w.stored.start, w.stored.end) for w in windows], len(joined))
    for window in windows:
        assert window.seen.start <= window.stored.start <= window.stored.end <= window.seen.end
        assert joined.last[window.seen.end - 1] - joined.first[window.seen.start] <= limit
    for left, right in pairwise(windows):
        assert left.seen.start < right.seen.start <= left.seen.end < right.seen.end, "a window that adds nothing"


@given(planned())
def test_seams_are_central(drawn) -> None:
    """No unit has more context on its scarcer side in a neighbouring window than in the one it is stored from."""
    joined, limit, overlap = drawn
    windows = list(plan(joined, limit, overlap))

    def context(unit: int, window) -> int:
        before = joined.first[unit] - joined.first[window.seen.start]
        return int(min(before, joined.last[window.seen.end - 1] - joined.last[unit]))

    for left, right in pairwise(windows):
        for unit in range(right.seen.start, left.seen.end):
            size = int(joined.last[unit] - joined.first[unit])
            here, there = (left, right) if unit < left.stored.end else (right, left)
            if here.stored.start <= unit < here.stored.end:
                assert context(unit, here) + size >= context(unit, there)


def test_one_window_where_all_fits() -> None:
    (window,) = plan(units_of([2, 3], [False, False]), 5)
    assert (window.seen.start, window.seen.end, window.stored.start, window.stored.end) == (0, 2, 0, 2)


def test_no_window_without_units() -> None:
    assert list(plan(units_of([], []), 5)) == []


@pytest.mark.parametrize("sizes", [[6], [1, 6], [2, 2, 6, 1]])
def test_a_unit_longer_than_a_window_is_refused(sizes: list[int]) -> None:
    with pytest.raises(InvalidDocument, match="6 tokens"):
        list(plan(units_of(sizes, [False] * len(sizes)), 5))
