"""Tokens joined to units: nothing is lost, nothing is counted twice."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.ops.pooling import pool
from models.text import units
from models.text.tokens import Tokens, UnitTokens, end_to_end, join, join_all, unit_shares
from tests import reference
from tests.strategies import texts, tokens_over


@st.composite
def tokenized(draw):
    text = draw(texts)
    spans = draw(tokens_over(len(text)))
    unknown = np.array(draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans))), bool)
    return text, Tokens(np.arange(len(spans), dtype=np.int32), np.array(spans, np.int64).reshape(-1, 2), unknown)


def touched(tokens: Tokens, spans: np.ndarray) -> list[int]:
    return [
        number
        for number, (start, end) in enumerate(tokens.spans.tolist())
        if any(start < b and a < end for a, b in spans.tolist())
    ]


@given(tokenized())
def test_every_token_is_shared_out_once(drawn) -> None:
    text, tokens = drawn
    joined = join(units.split(text), tokens)
    token, share, _ = unit_shares(joined, 0, len(joined))
    total = np.bincount(token, share, minlength=len(tokens.ids))
    np.testing.assert_allclose(total[touched(tokens, joined.spans)], 1, atol=1e-5)
    assert (share > 0).all()


@given(tokenized())
def test_units_cover_what_they_covered(drawn) -> None:
    text, tokens = drawn
    before = units.split(text)
    joined = join(before, tokens)
    after = joined.spans
    assert len(after) <= len(before)
    if not len(after):
        return
    assert after[0, 0] == before[0, 0]
    assert after[-1, 1] == before[-1, 1]
    assert (after[1:, 0] >= after[:-1, 1]).all()
    starts, ends = set(before[:, 0].tolist()), set(before[:, 1].tolist())
    assert all(start in starts and end in ends for start, end in after.tolist())
    assert (joined.last > joined.first).all()


@given(tokenized(), st.integers(0, 2**32 - 1))
def test_pooling_equals_the_oracle(drawn, seed: int) -> None:
    text, tokens = drawn
    joined = join(units.split(text), tokens)
    vectors = np.random.default_rng(seed).normal(size=(len(tokens.ids), 5)).astype(np.float32)
    found = pool(vectors, *unit_shares(joined, 0, len(joined)))
    expected = reference.pooled(joined.spans.tolist(), tokens.spans.tolist(), vectors)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    total = vectors[touched(tokens, joined.spans)].sum(axis=0)
    np.testing.assert_allclose(found.sum(axis=0), total, atol=1e-4)


@given(tokenized(), st.data())
def test_a_range_of_units_is_pooled_as_in_the_whole(drawn, data) -> None:
    text, tokens = drawn
    joined = join(units.split(text), tokens)
    start = data.draw(st.integers(0, len(joined)))
    end = data.draw(st.integers(start, len(joined)))
    vectors = np.random.default_rng(1).normal(size=(len(tokens.ids), 3)).astype(np.float32)
    whole = pool(vectors, *unit_shares(joined, 0, len(joined)))
    np.testing.assert_allclose(pool(vectors, *unit_shares(joined, start, end)), whole[start:end], atol=1e-6)


@given(st.lists(tokenized(), max_size=5))
def test_texts_joined_together_are_joined_as_if_alone(drawn) -> None:
    spans, tokens = [units.split(text) for text, _ in drawn], [tokens for _, tokens in drawn]
    for found, alone in zip(join_all(spans, tokens), map(join, spans, tokens), strict=True):
        assert_same(found, alone)


@given(st.lists(tokenized(), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_texts_laid_end_to_end_are_pooled_as_if_alone(drawn, seed: int) -> None:
    joined = [join(units.split(text), tokens) for text, tokens in drawn]
    normal = np.random.default_rng(seed).normal
    vectors = [normal(size=(len(of_text.tokens), 3)).astype(np.float32) for of_text in joined]
    alone = [
        pool(of_tokens, *unit_shares(of_text, 0, len(of_text)))
        for of_text, of_tokens in zip(joined, vectors, strict=True)
    ]
    whole = end_to_end(joined)
    together = pool(np.concatenate(vectors), *unit_shares(whole, 0, len(whole)))
    np.testing.assert_array_equal(together, np.concatenate(alone))


@given(tokenized(), st.data())
def test_a_cut_has_its_own_token_numbers(drawn, data) -> None:
    text, tokens = drawn
    joined = join(units.split(text), tokens)
    start = data.draw(st.integers(0, len(joined)))
    end = data.draw(st.integers(start, len(joined)))
    begin = data.draw(st.integers(0, int(joined.first[start]) if start < end else 0))
    piece = joined.cut(slice(start, end), slice(begin, len(tokens)))
    np.testing.assert_array_equal(piece.spans, joined.spans[start:end])
    for unit in range(end - start):
        ids = piece.tokens.ids[piece.first[unit] : piece.last[unit]]
        assert ids.tolist() == list(range(joined.first[start + unit], joined.last[start + unit]))


def assert_same(one: UnitTokens, other: UnitTokens) -> None:
    for field in ("spans", "first", "last", "unknown", "covered"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), field)
    for field in ("ids", "spans", "unknown"):
        np.testing.assert_array_equal(getattr(one.tokens, field), getattr(other.tokens, field), field)


@given(tokenized())
def test_unknown_units_are_those_with_an_unknown_token(drawn) -> None:
    text, tokens = drawn
    joined = join(units.split(text), tokens)
    expected = [tokens.unknown[a:b].any() for a, b in zip(joined.first, joined.last, strict=True)]
    assert joined.unknown.tolist() == expected


def test_a_text_without_tokens_has_no_units() -> None:
    nothing = Tokens(np.zeros(0, np.int32), np.zeros((0, 2), np.int64), np.zeros(0, bool))
    joined: UnitTokens = join(units.split("\u200b\ufeff"), nothing)
    assert len(joined) == 0
    assert pool(np.zeros((0, 4), np.float32), *unit_shares(joined, 0, 0)).shape == (0, 4)
