"""Queries of mode maxsim: a phrase, a sentence or a whole document, in windows that do not overlap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from indexer.indexing.windows import plan
from models.encoders.base import tokenize_units
from models.encoders.nuggets.base import Nuggets
from models.encoders.nuggets.forward_pass import NuggetPass
from models.errors import InvalidInput
from models.ops.batching import length_batches
from models.text.tokens import UnitTokens
from models.text.units import NEWEST, TextForm
from models.types import CharSpan

_BATCH_TOKENS = 4_096


@dataclass(frozen=True, slots=True)
class QueryPart:
    """The token of a nugget in the query, and its segment, which starts after the previous nugget."""

    token: CharSpan
    segment_span: CharSpan


@dataclass(frozen=True, slots=True)
class NuggetQuery:
    """The query's nuggets, of length 1, and the part of the text that each represents; None for a given vector."""

    vectors: Float32[np.ndarray, "vectors dim"]
    parts: tuple[QueryPart, ...] | None = None


def encode_nugget_queries(nuggets: NuggetPass, texts: Sequence[str]) -> list[NuggetQuery]:
    """The nuggets of every text, of all its windows; windows of like length share a forward pass.

    Raises ``InvalidInput`` for a text without a token.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.encoders.registry import load_nuggets
    >>> hashing = NuggetPass(load_nuggets("hashing", base=HashingEncoder(dim=8, window=3)), 0.5)
    >>> (query,) = encode_nugget_queries(hashing, ["one two three, four"])
    >>> query.vectors.shape, [part.segment_span.of("one two three, four") for part in query.parts]
    ((3, 8), ['one', ' two', ' three,'])
    """
    return encode_windows(nuggets, query_windows(nuggets, texts))


def encode_windows(nuggets: NuggetPass, windows: Sequence[Sequence[UnitTokens]]) -> list[NuggetQuery]:
    """The nuggets of texts that :func:`query_windows` has tokenized; windows of like length share a forward pass."""
    every = [window for of_text in windows for window in of_text]
    read = iter(_read(nuggets, every))
    return [_query(of_text, [next(read) for _ in of_text]) for of_text in windows]


def query_windows(nuggets: NuggetPass, texts: Sequence[str], form: TextForm = NEWEST) -> list[list[UnitTokens]]:
    """The windows of every text. Raises ``InvalidInput`` for a text without a token."""
    base = nuggets.encoder.base
    joined = tokenize_units(base, texts, form)
    if not all(map(len, joined)):
        raise InvalidInput("The query holds no words.", hint="Give at least one word or symbol.", field="text")
    return [list(_cut(units, base.window)) for units in joined]


def _cut(units: UnitTokens, limit: int) -> Iterator[UnitTokens]:
    """Windows of about equal length: a few words left for the last one would count as much as all the others."""
    even = -(-len(units.tokens) // -(-len(units.tokens) // limit))
    longest_unit = int((units.last - units.first).max())
    for window in plan(units, min(limit, even + longest_unit - 1), overlap=0):
        read = slice(int(units.first[window.seen.start]), int(units.last[window.seen.end - 1]))
        yield units.cut(slice(window.seen.start, window.seen.end), read)


def _read(nuggets: NuggetPass, windows: Sequence[UnitTokens]) -> list[Nuggets]:
    """The nuggets of every window."""
    lengths = [len(window.tokens) for window in windows]
    by_number: dict[int, Nuggets] = {}
    for batch in length_batches(lengths, _BATCH_TOKENS):
        read = nuggets.encoder.forward_query([windows[number].tokens.ids for number in batch], nuggets.ratio)
        by_number |= dict(zip(batch, read, strict=True))
    return [by_number[number] for number in range(len(windows))]


def _query(windows: Sequence[UnitTokens], nuggets: Sequence[Nuggets]) -> NuggetQuery:
    spans = np.concatenate(
        [window.tokens.spans[of_window.tokens] for window, of_window in zip(windows, nuggets, strict=True)]
    ).tolist()
    starts = [0, *(end for _, end in spans[:-1])]
    parts = tuple(
        QueryPart(CharSpan(start, end), CharSpan(before, end))
        for before, (start, end) in zip(starts, spans, strict=True)
    )
    return NuggetQuery(np.concatenate([of_window.vectors for of_window in nuggets]), parts)
