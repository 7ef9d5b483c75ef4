"""What hypothesis draws: awkward texts, tokens over them, metadata, calibrations."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

# Each of these has broken a splitter, a tokenizer or an offset somewhere.
AWKWARD = [
    "a", "B", "é", "don't", "3.14", "x_1", ".", ",", "'", '"', ":", "-", "€", "½", "_",
    " ", "  ", "\n", "\r\n", "\r", "\t", "\u00a0", "\u3000", "\u2028", "\u0085", "\x1c", "\0", "\x7f",
    "\u0301", "\u0308\u0301", "\u200b", "\u200d", "\u200e", "\u202e", "\ufeff", "\u00ad", "\ufffd",
    "😀", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🇩", "1️⃣", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "שלום", 'צה"ל', "ג'", "مرحبا", "\u0600", "\u06dd", "\u0600 ", "\u0f04",
    "สวัสดี", "กำ", "ไ", "你好", "中", "ひら", "カタカナ", "ー", "한국", "\u1112\u1161\u11ab", "\u1112", "\u1161",
    "क्षि", "नि", "\u0915\u094d", "ကျွန်", "\U000110bd", "\U0001d4b3", "𐍈", "İ", "ß", "ﬃ",
]  # fmt: skip

pieces = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    st.text("abc d", max_size=8),
)
texts = st.lists(pieces, max_size=24).map("".join)

json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),  # no negative zero
        st.sampled_from(["", "1", "true", "null", "é", "😀", '"', "\\", " a "]),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "é"]), inner, max_size=3)
    ),
    max_leaves=6,
)
keys = st.sampled_from(["kind", "agent", "", "é😀", "meta:kind", "id", "a.b"])
metadata = st.dictionaries(keys, json_values, max_size=4)


@st.composite
def tokens_over(draw, length):
    """Ordered character spans over a text of some length, as tokenizers make them: gaps, none that overlap."""
    marks = sorted(draw(st.lists(st.integers(0, length), max_size=24, unique=True)))
    spans = list(pairwise(marks))
    keep = draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans)))
    return [span for span, kept in zip(spans, keep, strict=True) if kept]


def _rising(steps):
    """Knots that rise by these steps, the least of which are just allowed."""
    inner = np.cumsum(np.array(steps), axis=0) / np.sum(steps, axis=0)
    return np.concatenate([[[0.0, 0.0]], inner[:-1], [[1.0, 1.0]]])


_steps = st.sampled_from([1e-4, 0.01, 0.3, 1.0]) | st.floats(0.001, 1)
knots = st.lists(st.tuples(_steps, _steps), min_size=1, max_size=8).map(_rising)
