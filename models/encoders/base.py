"""The encoder interface, and functions on it that encode units and queries."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int32

from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.text import units
from models.text.tokens import Tokens, UnitTokens, join_all, plain_tokens
from models.text.units import NEWEST, TextForm
from models.types import QueryVectors

# Queries of one forward pass.
_BATCH: Final = 32
# Characters of a refused query in its error: it may be one of many.
_SHOWN: Final = 40


@runtime_checkable
class Encoder(Protocol):
    """Maps text to contextual token vectors in two steps, so that windows can be planned between them."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def fingerprint(self) -> str:
        """Identifies everything that affects the vectors: architecture, weights, splitter, window."""

    @property
    def window(self) -> int:
        """The maximum number of tokens of one window."""

    @property
    def batch_tokens(self) -> int:
        """The number of tokens, padding included, of an efficient batch on the encoder's device."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of every text; nothing is truncated."""

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """One vector for every token of every window of every batch, in order."""

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The vectors of ``forward`` for a few short windows, up to rounding, at low latency."""


@runtime_checkable
class TextEncoder(Protocol):
    """An encoder that reads texts, a few at a time, by another network than queries; without torch, if it can."""

    def forward_texts(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The vectors of ``forward`` for some windows, up to the precision of ``forward`` on this processor."""


def forward_texts(
    encoder: Encoder, batch: Sequence[Int32[np.ndarray, " _tokens"]]
) -> list[Float32[np.ndarray, "_tokens dim"]]:
    """The vectors of some windows, by the encoder's network for texts if it has one, else by that for queries."""
    return encoder.forward_texts(batch) if isinstance(encoder, TextEncoder) else encoder.forward_query(batch)


def tokenize_units(encoder: Encoder, texts: Sequence[str], form: TextForm = NEWEST) -> list[UnitTokens]:
    """Split every text into units and join the encoder's tokens to them."""
    return join_all([units.split(text, form) for text in texts], _tokenize(encoder, texts, form))


def _tokenize(encoder: Encoder, texts: Sequence[str], form: TextForm) -> list[Tokens]:
    """The tokens of every text as the encoder reads it, at the characters of the text itself."""
    if form == "text.v1":
        return encoder.tokenize(texts)
    return plain_tokens(encoder.tokenize, texts)


def encode_queries(encoder: Encoder, texts: Sequence[str], form: TextForm = NEWEST) -> QueryVectors:
    """Unit-length means of the token vectors of every query, without special tokens.

    Queries share one forward pass. Raises ``InvalidInput`` for a query without a token, or longer than a window.
    """
    return encode_query_tokens(encoder, [tokens.ids for tokens in query_tokens(encoder, texts, form)])


def encode_all(encoder: Encoder, texts: Sequence[str], form: TextForm = NEWEST) -> QueryVectors:
    """The query vectors of any number of texts, in batches of similar length."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    vectors: Float32[np.ndarray, "queries dim"] = np.zeros((len(texts), encoder.dim), np.float32)
    for begin in range(0, len(order), _BATCH):
        rows = order[begin : begin + _BATCH]
        vectors[rows] = encode_queries(encoder, [texts[row] for row in rows], form)
    return vectors


def encode_query_tokens(encoder: Encoder, queries: Sequence[Int32[np.ndarray, " _tokens"]]) -> QueryVectors:
    """The vectors of queries that :func:`query_tokens` has tokenized, from one forward pass."""
    if not queries:
        return np.zeros((0, encoder.dim), np.float32)
    vectors = [tokens.mean(axis=0) for tokens in encoder.forward_query(queries)]
    return normalize(np.stack(vectors)).astype(np.float32)


def query_tokens(encoder: Encoder, texts: Sequence[str], form: TextForm = NEWEST) -> list[Tokens]:
    """The tokens of every query. Raises ``InvalidInput`` for one without a token, or longer than a window."""
    return [_checked(encoder, *item) for item in zip(texts, _tokenize(encoder, texts, form), strict=True)]


def check_query(encoder: Encoder, text: str, form: TextForm = NEWEST) -> None:
    """Raise ``InvalidInput`` for a query that :func:`encode_queries` refuses."""
    query_tokens(encoder, [text], form)


def _checked(encoder: Encoder, text: str, tokens: Tokens) -> Tokens:
    if not len(tokens.ids):
        raise InvalidInput("The query holds no words.", hint="Give at least one word or symbol.", field="text")
    if len(tokens.ids) > encoder.window:
        raise InvalidInput(
            f'The query has {len(tokens.ids)} tokens; at most {encoder.window} are allowed: "{text[:_SHOWN]}…".',
            hint="Shorten the phrase, or search for its sentences one by one.",
            field="text",
        )
    return tokens
