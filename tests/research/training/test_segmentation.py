"""The best cut of a window, against all cuts."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.training.nugget_initialization import best_segment_ends


def total(vectors: np.ndarray, ends: tuple[int, ...]) -> float:
    starts = [0, *(end + 1 for end in ends[:-1])]
    return sum(float(np.linalg.norm(vectors[s : e + 1].sum(axis=0))) for s, e in zip(starts, ends, strict=True))


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.data())
def test_no_other_cut_is_better(seed: int, tokens: int, data: st.DataObject) -> None:
    segments = data.draw(st.integers(1, tokens))
    vectors = np.random.default_rng(seed).normal(size=(tokens, 3))
    found = best_segment_ends(vectors, segments)
    cuts = [(*inner, tokens - 1) for inner in combinations(range(tokens - 1), segments - 1)]
    assert total(vectors, tuple(found)) == pytest.approx(max(total(vectors, cut) for cut in cuts))
    assert len(found) == segments
    assert found[-1] == tokens - 1


@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), min_size=2, max_size=8), st.data())
def test_only_what_is_allowed_ends_a_segment_if_there_is_enough(
    seed: int, allowed: list[bool], data: st.DataObject
) -> None:
    segments = data.draw(st.integers(1, len(allowed)))
    vectors = np.random.default_rng(seed).normal(size=(len(allowed), 3))
    found = best_segment_ends(vectors, segments, np.array(allowed))
    if sum(allowed[:-1]) >= segments - 1:
        assert all(allowed[end] for end in found[:-1])
    else:
        np.testing.assert_array_equal(found, best_segment_ends(vectors, segments))
