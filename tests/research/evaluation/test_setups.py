"""The set-ups of Table 1 against loops over spans, with an encoder whose vectors depend on their context."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest

from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.text import units
from models.text.tokens import Tokens
from research.evaluation.setups import SETUPS, best_by_length

QUERIES = ["red car", "old house", "the dog fled from home"]
PASSAGES = ["They saw a red car leave.", "Nobody wants cold soup, she said.", "The dog fled."]


class LetterEncoder(HashingEncoder):
    """A token a letter, so that units have several; half of a token's vector is that of what is read with it."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [self._letters(text) for text in texts]

    def _letters(self, text: str) -> Tokens:
        places = np.array([place for place, letter in enumerate(text) if not letter.isspace()], np.int64)
        ids = np.array([ord(text[place].lower()) for place in places], np.int32)
        return Tokens(ids, np.stack([places, places + 1], axis=1), np.zeros(len(ids), bool))

    def forward(self, batches: Iterable[Sequence[np.ndarray]]) -> Iterator[list[np.ndarray]]:
        for batch in super().forward(batches):
            yield [vectors + vectors.mean(axis=0) for vectors in batch]


def read(encoder: LetterEncoder, text: str) -> np.ndarray:
    ((vectors,),) = encoder.forward([[encoder.tokenize([text])[0].ids]])
    return vectors


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def alone(encoder: LetterEncoder, query: str, passage: str, start: int, end: int) -> float:
    return cosine(*encode_queries(encoder, [query, passage[start:end]]))


def mean_in_context(encoder: LetterEncoder, query: str, passage: str, start: int, end: int) -> float:
    inside = [start <= place < end for place, _ in encoder.tokenize([passage])[0].spans]
    return cosine(read(encoder, query).mean(axis=0), read(encoder, passage)[inside].mean(axis=0))


def first_and_last(encoder: LetterEncoder, query: str, passage: str, start: int, end: int) -> float:
    inside = [start <= place < end for place, _ in encoder.tokenize([passage])[0].spans]
    of_query, of_span = read(encoder, query), read(encoder, passage)[inside]
    return cosine(np.append(of_query[0], of_query[-1]), np.append(of_span[0], of_span[-1]))


ORACLES = {"ngram_forward": alone, "single_pass": mean_in_context, "start_end": first_and_last}


@pytest.mark.parametrize("longest", [1, 3, 20])
@pytest.mark.parametrize("name", ORACLES)
def test_the_best_span_of_every_length_is_found(name: str, longest: int) -> None:
    encoder = LetterEncoder()
    found = SETUPS[name].best(encoder, QUERIES, PASSAGES, longest)
    assert found.shape == (3, longest)
    for query, passage, row in zip(QUERIES, PASSAGES, found, strict=True):
        spans = units.split(passage)
        for length in range(1, longest + 1):
            runs = [(spans[i, 0], spans[i + length - 1, 1]) for i in range(len(spans) - length + 1)]
            expected = max((ORACLES[name](encoder, query, passage, *run) for run in runs), default=np.nan)
            assert row[length - 1] == pytest.approx(expected, abs=1e-5, nan_ok=True)


def test_the_setups_are_not_all_the_same() -> None:
    found = [SETUPS[name].best(LetterEncoder(), QUERIES, PASSAGES, 3) for name in ORACLES]
    assert all(np.abs(one - other)[:, 1].min() > 1e-3 for one, other in [found[:2], found[1:]])


def test_the_full_context_is_one_vector_for_the_passage() -> None:
    encoder = LetterEncoder()
    found = SETUPS["full_context"].best(encoder, QUERIES, PASSAGES, 1)
    pairs = zip(QUERIES, PASSAGES, strict=True)
    np.testing.assert_allclose(found[:, 0], [cosine(*encode_queries(encoder, pair)) for pair in pairs], atol=1e-6)


@pytest.mark.parametrize("name", SETUPS)
def test_rows_do_not_depend_on_each_other(name: str) -> None:
    together = SETUPS[name].best(LetterEncoder(), QUERIES, PASSAGES, 4)
    for row, (query, passage) in enumerate(zip(QUERIES, PASSAGES, strict=True)):
        np.testing.assert_allclose(
            SETUPS[name].best(LetterEncoder(), [query], [passage], 4)[0], together[row], atol=1e-6
        )


@pytest.mark.parametrize("name", ["full_context", "single_pass", "start_end"])
def test_a_passage_longer_than_a_window_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="3 tokens; a window holds 2"):
        SETUPS[name].best(HashingEncoder(window=2), ["a"], ["a b c"], 1)


@pytest.mark.parametrize("name", SETUPS)
def test_a_query_without_words_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="holds no words"):
        SETUPS[name].best(HashingEncoder(), [" "], ["a b"], 1)


def test_lengths_without_a_span_have_no_best() -> None:
    spans = np.array([[0, 1], [1, 2], [0, 2]])
    found = best_by_length(np.array([-0.5, -0.25, 0.75]), spans, 4)
    np.testing.assert_array_equal(found, [-0.25, 0.75, np.nan, np.nan])
