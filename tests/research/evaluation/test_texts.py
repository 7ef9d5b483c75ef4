"""Texts encoded many at a time are those encoded one at a time."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest

from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from research.evaluation.texts import encode_texts

TEXTS = ["a much longer text than the others are", "short", "of medium length", "SHORT", "short"]


class CountingEncoder(HashingEncoder):
    """Remembers how many tokens every batch held, padded, and how many texts it read."""

    def __init__(self) -> None:
        super().__init__()
        self.batch_tokens = 10
        self.padded: list[int] = []
        self.texts = 0

    def forward(self, batches: Iterable[Sequence[np.ndarray]]) -> Iterator[list[np.ndarray]]:
        def seen() -> Iterator[Sequence[np.ndarray]]:
            for batch in batches:
                self.padded.append(len(batch) * max(map(len, batch)))
                self.texts += len(batch)
                yield batch

        return super().forward(seen())


def test_texts_are_encoded_in_the_order_given() -> None:
    encoder = HashingEncoder()
    alone = np.concatenate([encode_queries(encoder, [text]) for text in TEXTS])
    np.testing.assert_allclose(encode_texts(encoder, TEXTS), alone, atol=1e-6)


def test_no_text_makes_no_vector() -> None:
    assert encode_texts(HashingEncoder(), []).shape == (0, 64)


def test_batches_are_bounded_and_equal_texts_are_read_once() -> None:
    encoder = CountingEncoder()
    encode_texts(encoder, TEXTS)
    assert encoder.texts == 3
    assert max(encoder.padded) <= 10
    assert len(encoder.padded) > 1


@pytest.mark.parametrize(("text", "message"), [("", "no words"), ("a b c", "3 tokens; a window holds 2")])
def test_what_cannot_be_read_whole_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        encode_texts(HashingEncoder(window=2), ["fine", text])
