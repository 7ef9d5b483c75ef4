"""Compatibility forms as encoders read them: nothing else changes, and offsets stay those of the text."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.encoders.base import tokenize_units
from models.encoders.hashing import HashingEncoder
from models.text.compatibility import PlainText, plain
from models.text.units import split
from tests import strategies

FORMS = st.sampled_from(["\ufb01", "\ufb03", "\uff33", "\U0001d5f0", "\u2167", "\ufef5", "\u3392", "\uff01", "\uff8a"])
texts = st.lists(FORMS | strategies.pieces, max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("The o\ufb03ce is e\ufb03cient.", "The office is efficient."),
        ("\uff33\uff54\uff4f\uff50\uff01", "Stop!"),
        ("\U0001d5e0\U0001d606 \u2167 \u2460 \u3392", "My VIII 1 MHz"),
        *((text, text) for text in ("10\u00b2 \u00bd", "\u2026 \u00a0\u00b4", "e\u0301 \u212b")),
    ],
)
def test_forms(text: str, read: str) -> None:
    assert plain(text) == read


@given(texts)
def test_spans_are_those_of_the_signs_behind(text: str) -> None:
    read = PlainText(text)
    pieces = [plain(sign) for sign in text]
    assert read.text == "".join(pieces)
    assert unicodedata.normalize("NFKC", read.text) == unicodedata.normalize("NFKC", text)
    at = [number for number, piece in enumerate(pieces) for _ in piece]
    spans = np.array([(start, end) for start in range(len(at)) for end in (start + 1, len(at))]).reshape(-1, 2)
    assert read.spans(spans).tolist() == [[at[start], at[end - 1] + 1] for start, end in spans.tolist()]


@given(texts)
def test_units_are_those_of_the_text_itself(text: str) -> None:
    encoder = HashingEncoder()
    (joined,) = tokenize_units(encoder, [text])
    assert set(joined.spans[:, 0].tolist()) <= set(split(text)[:, 0].tolist())
    assert all(0 <= start < end <= len(text) for start, end in joined.tokens.spans.tolist())
