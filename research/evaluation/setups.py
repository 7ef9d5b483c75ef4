"""The set-ups of Table 1 of the SLICE paper: how a query is compared with the passage that holds its paraphrase.

Each takes an encoder, queries, as many passages, and the length of the longest span in units. It gives a row of cosines
a query: the best of the spans of one unit, of two units and so on, with NaN where the passage has no span so long.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Float32, Int

from indexer.arrays import SpanTerms
from models.encoders.base import Encoder, tokenize_units
from models.ops.pooling import pool
from models.ops.similarity import normalize
from models.ops.span_score import COSINE, SpanScore
from models.ops.spans import enumerate_spans, span_cosines
from models.text.borders import border_codes, count_sentences
from models.text.tokens import Tokens, UnitTokens, unit_shares
from models.text.units import split
from models.types import SpanBounds, UnitVectors
from research.evaluation.texts import checked_window, encode_texts, token_vectors

BestByLength: TypeAlias = Float[np.ndarray, "rows lengths"]


def full_context(encoder: Encoder, queries: Sequence[str], passages: Sequence[str], longest: int) -> BestByLength:
    """One vector for the whole passage: one column, whatever the longest span.

    >>> from models.encoders.hashing import HashingEncoder
    >>> full_context(HashingEncoder(), ["one two"], ["two one"], 1).round(3).tolist()
    [[1.0]]
    """
    cosines = np.einsum("rd,rd->r", encode_texts(encoder, queries), encode_texts(encoder, passages))
    return cosines[:, None]


def ngram_forward(encoder: Encoder, queries: Sequence[str], passages: Sequence[str], longest: int) -> BestByLength:
    """One forward pass for every n-gram, read without its passage. Memory is that of the vectors of all n-grams.

    >>> from models.encoders.hashing import HashingEncoder
    >>> ngram_forward(HashingEncoder(), ["so good"], ["it is so good"], 2).round(3)[0, 1].item()
    1.0
    """
    spans = [_spans(of_passage, longest) for of_passage in tokenize_units(encoder, passages)]
    texts = [passages[row][start:end] for row, (_, chars) in enumerate(spans) for start, end in chars]
    ends = np.cumsum([len(within) for within, _ in spans])[:-1]
    ngrams = np.split(encode_texts(encoder, texts), ends)
    rows = zip(encode_texts(encoder, queries), ngrams, spans, strict=True)
    return np.stack([best_by_length(vectors @ query, within, longest) for query, vectors, (within, _) in rows])


def single_pass(encoder: Encoder, queries: Sequence[str], passages: Sequence[str], longest: int) -> BestByLength:
    """One forward pass over the passage; a span's vector is the mean of those of its units.

    >>> from models.encoders.hashing import HashingEncoder
    >>> single_pass(HashingEncoder(), ["so good"], ["it is so good"], 2).round(3)[0, 1].item()
    1.0
    """
    best = []
    for query, units in zip(encode_texts(encoder, queries), unit_vectors(encoder, passages), strict=True):
        within = enumerate_spans(len(units), SpanBounds(1, longest))
        best.append(best_by_length(span_cosines(query, units, within), within, longest))
    return np.stack(best)


def span_score(
    encoder: Encoder, queries: Sequence[str], passages: Sequence[str], longest: int, score: SpanScore = COSINE
) -> BestByLength:
    """As ``single_pass``, by the span score: with what length, borders and sentence ends inside take off.

    >>> from models.encoders.hashing import HashingEncoder
    >>> halved = SpanScore(end=(-0.5, 0, 0, 0, 0, 0))
    >>> span_score(HashingEncoder(), ["so good"], ["it is so good, yes"], 3, halved).round(3)[0, 1].item()
    1.0
    """
    best = []
    read = zip(queries, passages, encode_texts(encoder, queries), unit_vectors(encoder, passages), strict=True)
    for query, passage, vector, vectors in read:
        within, spans, queried = enumerate_spans(len(vectors), SpanBounds(1, longest)), split(passage), split(query)
        counts = np.array([len(queried)]), np.array([count_sentences(query, queried)])
        terms = SpanTerms.of(score, *counts)
        starts, ends = within.T
        added = terms.of_spans(border_codes(passage, spans), starts, ends, np.zeros(len(within), np.int64))
        best.append(best_by_length(span_cosines(vector, vectors, within) + added, within, longest))
    return np.stack(best)


def start_end(encoder: Encoder, queries: Sequence[str], passages: Sequence[str], longest: int) -> BestByLength:
    """One forward pass; a span's vector is that of its first token beside that of its last, and so is the query's.

    This is how DensePhrases (Lee et al., 2021) represents phrases, here without its training and by cosine.

    >>> from models.encoders.hashing import HashingEncoder
    >>> start_end(HashingEncoder(), ["so good"], ["so very good"], 3).round(3)[0, 2].item()
    1.0
    """
    joined = tokenize_units(encoder, passages)
    query_vectors = _in_order(encoder, encoder.tokenize(queries))
    read = _in_order(encoder, [of_passage.tokens for of_passage in joined])
    best = []
    for query, of_passage, tokens in zip(query_vectors, joined, read, strict=True):
        within = enumerate_spans(len(of_passage), SpanBounds(1, longest))
        first, last = of_passage.first[within[:, 0]], of_passage.last[within[:, 1] - 1] - 1
        ends = normalize(np.concatenate([tokens[first], tokens[last]], axis=1))
        best.append(best_by_length(ends @ normalize(np.concatenate([query[0], query[-1]])), within, longest))
    return np.stack(best)


@dataclass(frozen=True, slots=True)
class SetUp:
    """A set-up, and whether it compares spans; else bounds on their length do not concern it."""

    best: Callable[[Encoder, Sequence[str], Sequence[str], int], BestByLength]
    over_spans: bool = True


PAPER = ("full_context", "ngram_forward", "single_pass")
SETUPS: Mapping[str, SetUp] = MappingProxyType(
    {
        "full_context": SetUp(full_context, over_spans=False),
        "ngram_forward": SetUp(ngram_forward),
        "single_pass": SetUp(single_pass),
        "start_end": SetUp(start_end),
        "span_score": SetUp(span_score),
    }
)


def best_by_length(
    cosines: Float[np.ndarray, " spans"], spans: Int[np.ndarray, "spans 2"], longest: int
) -> Float[np.ndarray, " lengths"]:
    """The best cosine of the spans of each length, from 1 to the longest; NaN where there is no such span.

    >>> best_by_length(np.array([0.1, 0.3, 0.2]), np.array([[0, 1], [1, 2], [0, 2]]), 3).tolist()
    [0.3, 0.2, nan]
    """
    best = np.full(longest, np.nan)
    np.fmax.at(best, spans[:, 1] - spans[:, 0] - 1, cosines)
    return best


def unit_vectors(encoder: Encoder, passages: Sequence[str]) -> list[UnitVectors]:
    """Unit vectors of every passage, from one forward pass over the whole of it.

    >>> from models.encoders.hashing import HashingEncoder
    >>> [units.shape for units in unit_vectors(HashingEncoder(dim=8), ["one two", "three"])]
    [(2, 8), (1, 8)]
    """
    joined = tokenize_units(encoder, passages)
    vectors = _in_order(encoder, [of_passage.tokens for of_passage in joined])
    return [
        pool(of_tokens, *unit_shares(of_passage, 0, len(of_passage)))
        for of_passage, of_tokens in zip(joined, vectors, strict=True)
    ]


def _in_order(encoder: Encoder, texts: Sequence[Tokens]) -> list[Float32[np.ndarray, "_tokens dim"]]:
    """The token vectors of every text."""
    vectors = dict(token_vectors(encoder, [checked_window(encoder, tokens) for tokens in texts]))
    return [vectors[number] for number in range(len(texts))]


def _spans(joined: UnitTokens, longest: int) -> tuple[Int[np.ndarray, "spans 2"], Int[np.ndarray, "spans 2"]]:
    """All spans of a passage, in units and in characters."""
    within = enumerate_spans(len(joined), SpanBounds(1, longest))
    return within, np.stack([joined.spans[within[:, 0], 0], joined.spans[within[:, 1] - 1, 1]], axis=1)
