"""Tokens joined to units: nothing is lost, nothing is counted twice."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models import units
from models.ops.pooling import pool
from models.tokens import Tokens, UnitTokens, join, unit_shares
from tests import reference
from tests.strategies import texts, tokens_over


@st.composite
def joined_texts(draw):
    text = draw(texts)
    spans = draw(tokens_over(len(text)))
    unknown = np.array(draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans))), bool)
    tokens = Tokens(np.arange(len(spans), dtype=np.int32), np.array(spans, np.int64).reshape(-1, 2), unknown)
    return text, tokens, join(units.split(text), tokens)


def touched(tokens: Tokens, spans: np.ndarray) -> list[int]:
    return [
        number
        for number, (start, end) in enumerate(tokens.spans.tolist())
        if any(start < b and a < end for a, b in spans.tolist())
    ]


@given(joined_texts())
def test_every_token_is_shared_out_once(drawn) -> None:
    _, tokens, joined = drawn
    token, share, _ = unit_shares(joined, 0, len(joined))
    total = np.bincount(token, share, minlength=len(tokens.ids))
    np.testing.assert_allclose(total[touched(tokens, joined.spans)], 1, atol=1e-5)
    assert (share > 0).all()


@given(joined_texts())
def test_units_cover_what_they_covered(drawn) -> None:
    text, _, joined = drawn
    before, after = units.split(text), joined.spans
    assert len(after) <= len(before)
    if not len(after):
        return
    assert after[0, 0] == before[0, 0]
    assert after[-1, 1] == before[-1, 1]
    assert (after[1:, 0] >= after[:-1, 1]).all()
    starts, ends = set(before[:, 0].tolist()), set(before[:, 1].tolist())
    assert all(start in starts and end in ends for start, end in after.tolist())
    assert (joined.last > joined.first).all()


@given(joined_texts(), st.integers(0, 2**32 - 1))
def test_pooling_equals_the_oracle(drawn, seed: int) -> None:
    _, tokens, joined = drawn
    vectors = np.random.default_rng(seed).normal(size=(len(tokens.ids), 5)).astype(np.float32)
    found = pool(vectors, *unit_shares(joined, 0, len(joined)))
    expected = reference.pooled(joined.spans.tolist(), tokens.spans.tolist(), vectors)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    total = vectors[touched(tokens, joined.spans)].sum(axis=0)
    np.testing.assert_allclose(found.sum(axis=0), total, atol=1e-4)


@given(joined_texts(), st.data())
def test_a_range_of_units_is_pooled_as_in_the_whole(drawn, data) -> None:
    _, tokens, joined = drawn
    start = data.draw(st.integers(0, len(joined)))
    end = data.draw(st.integers(start, len(joined)))
    vectors = np.random.default_rng(1).normal(size=(len(tokens.ids), 3)).astype(np.float32)
    whole = pool(vectors, *unit_shares(joined, 0, len(joined)))
    np.testing.assert_allclose(pool(vectors, *unit_shares(joined, start, end)), whole[start:end], atol=1e-6)


@given(joined_texts())
def test_unknown_units_are_those_with_an_unknown_token(drawn) -> None:
    _, tokens, joined = drawn
    expected = [tokens.unknown[a:b].any() for a, b in zip(joined.first, joined.last, strict=True)]
    assert joined.unknown.tolist() == expected


def test_a_text_without_tokens_has_no_units() -> None:
    nothing = Tokens(np.zeros(0, np.int32), np.zeros((0, 2), np.int64), np.zeros(0, bool))
    joined: UnitTokens = join(units.split("\u200b\ufeff"), nothing)
    assert len(joined) == 0
    assert pool(np.zeros((0, 4), np.float32), *unit_shares(joined, 0, 0)).shape == (0, 4)
