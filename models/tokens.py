"""Tokens joined to units: the one place where a backbone's tokenizer meets the splitter."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int, Int32

from models.types import CharSpans


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a tokenizer made of a text: ids, character spans, and which ids mean "unknown"."""

    ids: Int32[np.ndarray, " tokens"]
    spans: Int[np.ndarray, "tokens 2"]
    unknown: Bool[np.ndarray, " tokens"]


@dataclass(frozen=True, slots=True)
class UnitTokens:
    """The units of one text and the tokens each is made of.

    ``spans`` are the units' character spans; unit ``u`` is made of the tokens ``first[u]:last[u]``. ``covered`` says
    how many characters of every token belong to units (not all: some tokenizers put white space into tokens).
    ``unknown`` marks units that contain an unknown token. Every unit has at least one token.
    """

    spans: CharSpans
    first: Int[np.ndarray, " units"]
    last: Int[np.ndarray, " units"]
    unknown: Bool[np.ndarray, " units"]
    tokens: Tokens
    covered: Int[np.ndarray, " tokens"]

    def __len__(self) -> int:
        return len(self.spans)


def join(units: CharSpans, tokens: Tokens) -> UnitTokens:
    """Join tokens to units by character overlap; a unit without a token joins its neighbour on the left.

    >>> ids, unknown = np.array([7, 8, 9], np.int32), np.zeros(3, bool)
    >>> tokens = Tokens(ids, np.array([[0, 2], [2, 5], [8, 9]]), unknown)   # un|box|_\\u200b_|!
    >>> joined = join(np.array([[0, 5], [6, 7], [8, 9]]), tokens)
    >>> joined.spans.tolist(), joined.first.tolist(), joined.last.tolist()
    ([[0, 7], [8, 9]], [0, 2], [2, 3])
    """
    first, last = _overlapping(tokens, units)
    spans = _absorb(units, last > first)
    first, last = _overlapping(tokens, spans)
    unknown_before = np.concatenate([[0], np.cumsum(tokens.unknown)])
    unknown = unknown_before[last] > unknown_before[first]
    return UnitTokens(spans, first, last, unknown, tokens, _covered(spans, tokens.spans))


def _overlapping(tokens: Tokens, units: CharSpans) -> tuple[Int[np.ndarray, " units"], Int[np.ndarray, " units"]]:
    """The runs ``first:last`` of tokens that overlap units."""
    first = np.searchsorted(tokens.spans[:, 1], units[:, 0], side="right")
    return first, np.searchsorted(tokens.spans[:, 0], units[:, 1], side="left")


def _covered(units: CharSpans, tokens: Int[np.ndarray, "tokens 2"]) -> Int[np.ndarray, " tokens"]:
    """How many characters of every token belong to units."""
    ends = np.append(0, units[:, 1])
    inside = np.append(0, np.cumsum(units[:, 1] - units[:, 0]))
    begun = np.searchsorted(units[:, 0], tokens, side="right")
    before = inside[begun] - (ends[begun] - tokens).clip(min=0)
    return before[:, 1] - before[:, 0]


def _absorb(units: CharSpans, keep: Bool[np.ndarray, " units"]) -> Int[np.ndarray, "kept 2"]:
    """Spans of the kept units, grown over the units that are not kept (to the left neighbour, if there is one)."""
    kept = np.flatnonzero(keep)
    if not len(kept):
        return units[:0]
    starts, ends = units[kept, 0], units[np.append(kept[1:] - 1, len(units) - 1), 1]
    return np.stack([np.concatenate([units[:1, 0], starts[1:]]), ends], axis=1)


def unit_shares(
    joined: UnitTokens, start: int, end: int
) -> tuple[Int[np.ndarray, " pairs"], Float32[np.ndarray, " pairs"], Int[np.ndarray, " units"]]:
    """How the vectors of tokens add up to those of the units ``start:end``.

    Returns token numbers, the share of each token that falls into the unit (1 unless a token covers several
    units, as one unknown token over a word of 100,000 letters does), and where each unit's run of pairs begins.
    """
    first, last = joined.first[start:end], joined.last[start:end]
    counts = last - first
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    token = np.arange(counts.sum()) + np.repeat(first - begins, counts)
    spans, units = joined.tokens.spans[token], np.repeat(joined.spans[start:end], counts, axis=0)
    overlap = np.minimum(spans[:, 1], units[:, 1]) - np.maximum(spans[:, 0], units[:, 0])
    return token, (overlap / joined.covered[token]).astype(np.float32), begins
