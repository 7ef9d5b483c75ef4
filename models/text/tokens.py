"""Tokens joined to units: the only place where a backbone's tokenizer meets the splitter.

Most texts are short, and calling numpy for one takes longer than the computation. So many texts are joined, and many
windows pooled, in one call: laid end to end.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from jaxtyping import Bool, Float32, Int, Int32

from models.text.compatibility import PlainText
from models.types import CharSpans

_NO_SPANS = np.zeros((0, 2), np.int64)
# The distance of texts that share one axis of characters; no text is as long.
_FAR = 2**32


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text: ids, character spans, and a mask of unknown tokens."""

    ids: Int32[np.ndarray, " tokens"]
    spans: Int[np.ndarray, "tokens 2"]
    unknown: Bool[np.ndarray, " tokens"]

    def __len__(self) -> int:
        return len(self.ids)

    def cut(self, run: slice) -> "Tokens":
        """A run of the tokens."""
        return Tokens(self.ids[run], self.spans[run], self.unknown[run])


def plain_tokens(tokenize: Callable[[Sequence[str]], list[Tokens]], texts: Sequence[str]) -> list[Tokens]:
    """The tokens of every text without forms of compatibility, at the characters of the text itself."""
    read = [PlainText(text) for text in texts]
    tokens = tokenize([each.text for each in read])
    return [replace(of, spans=each.spans(of.spans)) for each, of in zip(read, tokens, strict=True)]


@dataclass(frozen=True, slots=True)
class UnitTokens:
    """The units of one text and their tokens.

    ``spans`` are the units' character spans; unit ``u`` consists of the tokens ``first[u]:last[u]``. ``covered`` is the
    number of characters of every token that belong to units (some tokenizers put white space into tokens).
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

    def cut(self, units: slice, tokens: slice) -> "UnitTokens":
        """A run of the units, with a run of tokens that contains theirs."""
        return UnitTokens(
            self.spans[units],
            self.first[units] - tokens.start,
            self.last[units] - tokens.start,
            self.unknown[units],
            self.tokens.cut(tokens),
            self.covered[tokens],
        )


def join(units: CharSpans, tokens: Tokens) -> UnitTokens:
    """Join tokens to units by character overlap; a unit without a token joins its neighbour on the left.

    >>> ids, unknown = np.array([7, 8, 9], np.int32), np.zeros(3, bool)
    >>> tokens = Tokens(ids, np.array([[0, 2], [2, 5], [8, 9]]), unknown)   # un|box|_\\u200b_|!
    >>> joined = join(np.array([[0, 5], [6, 7], [8, 9]]), tokens)
    >>> joined.spans.tolist(), joined.first.tolist(), joined.last.tolist()
    ([[0, 7], [8, 9]], [0, 2], [2, 3])
    """
    return join_all([units], [tokens])[0]


def join_all(units: Sequence[Int[np.ndarray, "_units 2"]], tokens: Sequence[Tokens]) -> list[UnitTokens]:
    """Like :func:`join`, for the units and the tokens of many texts."""
    text, everything = _numbers(units), concatenate(tokens)
    unit_spans = np.concatenate([_NO_SPANS, *units]) + _FAR * text[:, None]
    token_spans = everything.spans + _FAR * _numbers(tokens)[:, None]
    first, last = _overlapping(token_spans, unit_spans)
    unit_spans, text = _absorb(unit_spans, text, last > first)
    first, last = _overlapping(token_spans, unit_spans)
    unknown_before = np.append(0, np.cumsum(everything.unknown))
    unknown = unknown_before[last] > unknown_before[first]
    covered = _covered(unit_spans, token_spans)
    joined = UnitTokens(unit_spans - _FAR * text[:, None], first, last, unknown, everything, covered)
    runs = zip(_runs(np.bincount(text, minlength=len(units)).tolist()), _runs(map(len, tokens)), strict=True)
    return [joined.cut(*run) for run in runs]


def concatenate(tokens: Sequence[Tokens]) -> Tokens:
    """The tokens of several texts, concatenated; spans still refer to each text."""
    return Tokens(
        np.concatenate([np.zeros(0, np.int32), *(of_text.ids for of_text in tokens)]),
        np.concatenate([_NO_SPANS, *(of_text.spans for of_text in tokens)]),
        np.concatenate([np.zeros(0, bool), *(of_text.unknown for of_text in tokens)]),
    )


def end_to_end(texts: Sequence[UnitTokens]) -> UnitTokens:
    """The units and tokens of one or more texts as if of one; spans still refer to each text."""
    before = np.array([0, *accumulate(map(len, (of_text.tokens for of_text in texts)))])[_numbers(texts)]
    return UnitTokens(
        np.concatenate([of_text.spans for of_text in texts]),
        np.concatenate([of_text.first for of_text in texts]) + before,
        np.concatenate([of_text.last for of_text in texts]) + before,
        np.concatenate([of_text.unknown for of_text in texts]),
        concatenate([of_text.tokens for of_text in texts]),
        np.concatenate([of_text.covered for of_text in texts]),
    )


def _numbers(texts: Sequence[Sized]) -> Int[np.ndarray, " all"]:
    """The number of its text for every element of many texts.

    >>> _numbers(["ab", "", "c"]).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), np.int64))


def _runs(lengths: Iterable[int]) -> Iterator[slice]:
    """Adjacent runs of these lengths."""
    return (slice(start, end) for start, end in pairwise(accumulate(lengths, initial=0)))


def _overlapping(
    tokens: Int[np.ndarray, "tokens 2"], units: CharSpans
) -> tuple[Int[np.ndarray, " units"], Int[np.ndarray, " units"]]:
    """The runs ``first:last`` of tokens that overlap units."""
    first = np.searchsorted(tokens[:, 1], units[:, 0], side="right")
    return first, np.searchsorted(tokens[:, 0], units[:, 1], side="left")


def _covered(units: CharSpans, tokens: Int[np.ndarray, "tokens 2"]) -> Int[np.ndarray, " tokens"]:
    """The number of characters of every token that belong to units."""
    ends = np.append(0, units[:, 1])
    inside = np.append(0, np.cumsum(units[:, 1] - units[:, 0]))
    begun = np.searchsorted(units[:, 0], tokens, side="right")
    before = inside[begun] - (ends[begun] - tokens).clip(min=0)
    return before[:, 1] - before[:, 0]


def _absorb(
    units: CharSpans, text: Int[np.ndarray, " units"], keep: Bool[np.ndarray, " units"]
) -> tuple[Int[np.ndarray, "kept 2"], Int[np.ndarray, " kept"]]:
    """Spans of the units to keep, extended over the others of their text, and the numbers of their texts.

    A unit that is not kept is merged into its neighbour on the left, if there is one.
    """
    rows = np.flatnonzero(keep)
    text_begin, text_end = (np.searchsorted(text, text[rows], side) for side in ("left", "right"))
    before, after = np.append(-1, rows)[:-1], np.append(rows, len(units))[1:]
    first = np.where(before < text_begin, text_begin, rows)
    last = np.minimum(after, text_end) - 1
    return np.stack([units[first, 0], units[last, 1]], axis=1), text[rows]


def unit_shares(
    joined: UnitTokens, start: int, end: int
) -> tuple[Int[np.ndarray, " pairs"], Float32[np.ndarray, " pairs"], Int[np.ndarray, " units"]]:
    """The weights with which token vectors add up to the vectors of the units ``start:end``.

    Returns token numbers, the share of each token that falls into the unit (1 unless a token covers several
    units, as one unknown token over a word of 100,000 letters does), and the start of each unit's run of pairs.
    """
    first, last = joined.first[start:end], joined.last[start:end]
    counts = last - first
    begins = np.append(0, np.cumsum(counts))[:-1]
    token = np.arange(counts.sum()) + np.repeat(first - begins, counts)
    spans, units = joined.tokens.spans[token], np.repeat(joined.spans[start:end], counts, axis=0)
    overlap = np.minimum(spans[:, 1], units[:, 1]) - np.maximum(spans[:, 0], units[:, 0])
    return token, (overlap / joined.covered[token]).astype(np.float32), begins
