"""Which tokens are nuggets, against loops."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ops.nuggets import count, segment_starts, top


@given(st.integers(0, 600), st.integers(1, 100))
def test_count_is_the_ceiling_of_the_exact_product(tokens: int, hundredths: int) -> None:
    assert count(tokens, hundredths / 100) == math.ceil(tokens * Fraction(hundredths, 100))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
def test_top_keeps_the_best_and_of_equals_the_first(scores: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(1, len(scores)))
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    assert top(np.array(scores, float), wanted).tolist() == sorted(order[:wanted])


@given(st.sets(st.integers(0, 50), min_size=1))
def test_segments_reach_from_the_nugget_before(nuggets: set[int]) -> None:
    places = sorted(nuggets)
    covered = [
        place
        for start, end in zip(segment_starts(np.array(places)), places, strict=True)
        for place in range(start, end + 1)
    ]
    assert covered == list(range(places[-1] + 1))


@pytest.mark.parametrize("ratio", [0.05, 1.0])
def test_no_tokens_no_nuggets(ratio: float) -> None:
    assert count(0, ratio) == 0
    assert top(np.zeros(0), 0).tolist() == []
    assert segment_starts(np.zeros(0, np.int64)).tolist() == []
