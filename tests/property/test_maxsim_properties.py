"""MaxSim is what loops say it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.ops.maxsim import group_maxima, maxsim
from tests import reference

values = st.floats(-4, 4, width=16)


@st.composite
def two_texts(draw):
    dim = draw(st.integers(1, 5))
    return tuple(draw(arrays(np.float32, (draw(st.integers(1, 6)), dim), elements=values)) for _ in range(2))


@given(two_texts())
def test_the_score_is_the_mean_of_the_best_cosines(drawn) -> None:
    queries, vectors = drawn
    before = queries.copy(), vectors.copy()
    found = maxsim(queries, vectors)
    score, matches = reference.maxsim(queries, vectors)
    assert found.score == pytest.approx(score, abs=1e-9)
    assert found.cosines.mean() == pytest.approx(found.score, abs=1e-12)
    # Where two are equally good but for rounding, either may be named.
    for number, (named, best) in enumerate(zip(found.matches.tolist(), matches, strict=True)):
        one, other = (reference.maxsim(queries[[number]], vectors[[at]])[0] for at in (named, best))
        assert one == pytest.approx(other, abs=1e-9)
    assert (before[0] == queries).all()
    assert (before[1] == vectors).all()


@given(two_texts(), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(drawn, random) -> None:
    queries, vectors = drawn
    shuffled = list(range(len(vectors)))
    random.shuffle(shuffled)
    again = np.concatenate([vectors[shuffled], vectors])
    assert maxsim(queries, again).score == pytest.approx(maxsim(queries, vectors).score, abs=1e-9)
    assert maxsim(np.concatenate([queries, queries]), vectors).score == pytest.approx(maxsim(queries, vectors).score)


@given(two_texts())
def test_more_nuggets_never_lower_the_score(drawn) -> None:
    queries, vectors = drawn
    assert maxsim(queries, vectors).score >= maxsim(queries, vectors[:1]).score - 1e-12


def test_of_equals_the_first() -> None:
    found = maxsim(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    assert found.matches.tolist() == [1]


@pytest.mark.parametrize(("queries", "vectors"), [(0, 1), (1, 0), (0, 0)])
def test_nothing_is_similar_to_nothing(queries: int, vectors: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        maxsim(np.ones((queries, 3)), np.ones((vectors, 3)))


@given(st.lists(st.integers(0, 4), max_size=12).map(sorted), st.integers(1, 3), st.data())
def test_maxima_of_groups(groups, queries, data) -> None:
    similarities = data.draw(arrays(np.float32, (len(groups), queries), elements=values))
    found = group_maxima(similarities, np.array(groups, np.int64), 5)
    for group in range(5):
        for query in range(queries):
            inside = [similarities[row, query] for row, of in enumerate(groups) if of == group]
            assert found[group, query] == max(inside, default=-np.inf)
