"""The scores of one list of rows by any encoder in any set-up, each computed once."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float

from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.ops.span_score import COSINE, SpanScore
from models.text.units import split
from models.types import SpanBounds, UnitSpan
from research.evaluation.score_cache import KeptScores, row_key
from research.evaluation.setups import SETUPS, BestByLength, SetUp, span_score


def shared_units(one: UnitSpan, other: UnitSpan) -> int:
    """Number of units that stand in both spans.

    >>> shared_units(UnitSpan(0, 4), UnitSpan(2, 9))
    2
    """
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def is_right(hit: UnitSpan, gold: UnitSpan) -> bool:
    """True if a span covers at least half of a gold span's units and is at most twice as long.

    >>> is_right(UnitSpan(0, 4), UnitSpan(2, 6)), is_right(UnitSpan(0, 9), UnitSpan(2, 6))
    (True, False)
    """
    return 2 * shared_units(hit, gold) >= len(gold) and len(hit) <= 2 * len(gold)


def at_same_place(hit: UnitSpan, gold: UnitSpan) -> bool:
    """True if two spans share at least half of the units of the shorter one. A span that is right is at the same place.

    >>> at_same_place(UnitSpan(3, 5), UnitSpan(0, 20)), at_same_place(UnitSpan(0, 20), UnitSpan(19, 22))
    (True, False)
    """
    return 2 * shared_units(hit, gold) >= min(len(hit), len(gold))


def overlap_f1(hit: UnitSpan, gold: UnitSpan) -> float:
    """Harmonic mean of the shares of either span that stand in the other: 2 |both| / (|found| + |gold|).

    >>> overlap_f1(UnitSpan(0, 4), UnitSpan(2, 8))
    0.4
    """
    return 2 * shared_units(hit, gold) / (len(hit) + len(gold))


# Rows that are computed, and kept, at a time: their n-grams fill many batches, and their vectors some 100 MB.
GROUP = 16

# Called with a set-up's name, the rows done and the rows there are.
Tell = Callable[[str, int, int], None]


SPAN_SCORE = "span_score"


def silent(setup: str, done: int, rows: int) -> None:
    """Report nothing."""


class Scoring:
    """Scores of queries against their passages: the cosine of the passage, or of its best span.

    ``discount`` is that of the span score, for spans shorter than the query. Cosines are kept without it.
    ``span_scores`` gives an encoder's parameters for the set-up ``span_score``, which the discount does not concern.
    What was computed is kept in memory and, where a folder is given, in files that later runs go on from.

    >>> from models.encoders.hashing import HashingEncoder
    >>> scoring = Scoring(["so good", "bad"], ["it is so good", "not bad"])
    >>> scoring.scores(HashingEncoder(), "single_pass", SpanBounds(1, 2)).round(3).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        queries: Sequence[str],
        passages: Sequence[str],
        folder: Path | None = None,
        tell: Tell = silent,
        discount: float = 0.0,
        span_scores: Callable[[Encoder], SpanScore] = lambda _: COSINE,
    ) -> None:
        self._texts = list(zip(queries, passages, strict=True))
        self._keys = [row_key(*texts) for texts in self._texts]
        self._folder = folder
        self._tell = tell
        self._score = SpanScore(discount)
        self._span_scores = span_scores
        self._query_units = np.array([len(split(query)) for query in queries], int)
        self._kept: dict[tuple[str, str], KeptScores] = {}

    def scores(self, encoder: Encoder, setup: str, bounds: SpanBounds) -> Float[np.ndarray, " rows"]:
        """A score a row; spans have as many units as the bounds say, where the set-up compares spans."""
        chosen = setup_named(setup)
        within = bounds if chosen.over_spans else SpanBounds(1, 1)
        best = self._by_length(encoder, setup, within.longest)[:, within.shortest - 1 :]
        short = np.isnan(best).all(axis=1)
        if short.any():
            raise InvalidInput(
                f"{short.sum()} passages have fewer than {within.shortest} units.",
                hint="Give a smaller --min-span.",
                field="min_span",
            )
        if chosen.over_spans and setup != SPAN_SCORE:
            best = best + self._score.lengths(self._query_units, within.longest)[:, within.shortest :]
        return np.nanmax(best, axis=1)

    def _by_length(self, encoder: Encoder, setup: str, longest: int) -> BestByLength:
        cached = self._kept_scores(encoder, setup)
        missing = [row for row, key in enumerate(self._keys) if not cached.has(key, longest)]
        for begin in range(0, len(missing), GROUP):
            self._tell(setup, len(self._keys) - len(missing) + begin, len(self._keys))
            group = missing[begin : begin + GROUP]
            queries, passages = zip(*(self._texts[row] for row in group), strict=True)
            cached.add([self._keys[row] for row in group], self._best(encoder, setup)(queries, passages, longest))
        self._tell(setup, len(self._keys), len(self._keys))
        return cached.matrix(self._keys, longest)

    def _best(self, encoder: Encoder, setup: str) -> Callable[[Sequence[str], Sequence[str], int], BestByLength]:
        if setup == SPAN_SCORE:
            return partial(span_score, encoder, score=self._span_scores(encoder))
        return partial(SETUPS[setup].best, encoder)

    def _kept_scores(self, encoder: Encoder, setup: str) -> KeptScores:
        score = self._span_scores(encoder).fingerprint if setup == SPAN_SCORE else ""
        name = encoder.fingerprint, setup + (f"-{score}" if score else "")
        if name not in self._kept:
            self._kept[name] = KeptScores(self._folder / f"{'.'.join(name)}.ndjson" if self._folder else None)
        return self._kept[name]


def setup_named(name: str) -> SetUp:
    """The set-up of a name; ``InvalidInput`` where there is none."""
    if name not in SETUPS:
        raise InvalidInput(f"There is no set-up {name!r}.", hint=f"Set-ups are: {', '.join(SETUPS)}.", field="setups")
    return SETUPS[name]
