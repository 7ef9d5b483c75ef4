"""The span score: a span's cosine, less a discount for spans shorter than the query, less what its borders lack.

    score(q, i..j) = cosine(q, i..j) - discount * max(0, ln(units of q / units of the span))
                     + start[border before unit i] + end[border after unit j]
                     + crossing, if a sentence ends inside the span and the query has only one

The best cosine of a phrase favours short spans, whose mean is of few vectors, and knows no clauses (ADR 16). No term is
positive: a score is at most its cosine, so at most 1, and ``raw`` need not be clipped where matches are good.
"""

import hashlib
import json
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

# Strengths of borders: none, clause, sentence, line, paragraph, part (``models.text.borders``).
BORDERS = 6
_NONE = (0.0,) * BORDERS


@dataclass(frozen=True, slots=True)
class SpanScore:
    """The parameters of the span score of one encoder. Without any it is the literal cosine.

    ``start`` and ``end`` are by the strength of the border; like ``crossing`` they are not positive. ``whole_share`` is
    the weight of the own score of a whole clause or sentence beside its best span's, ``part_share`` the same of a
    whole part. ``context_share`` is the weight of the cosine of the part around in the own score of a clause or
    sentence, whose topic it tells. Raises ``ValueError`` for other values.

    >>> score = SpanScore(0.5, start=(-0.03, -0.015, 0, 0, 0, 0))
    >>> score.lengths(np.array([4, 0]), 5).round(3).tolist()  # four units, and a query of unknown length
    [[0.0, -0.693, -0.347, -0.144, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    >>> SpanScore().is_cosine, score.is_cosine
    (True, False)
    """

    discount: float = 0.0
    start: tuple[float, ...] = _NONE
    end: tuple[float, ...] = _NONE
    crossing: float = 0.0
    whole_share: float = 1.0
    part_share: float = 1.0
    context_share: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.discount) and self.discount >= 0):
            raise ValueError(f"a discount is a number from 0 on, not {self.discount!r}")
        for values in (self.start, self.end):
            if len(values) != BORDERS or not all(math.isfinite(value) and value <= 0 for value in values):
                raise ValueError(f"borders take {BORDERS} numbers of which none is positive, not {values!r}")
        if not (math.isfinite(self.crossing) and self.crossing <= 0):
            raise ValueError(f"crossing is a number that is not positive, not {self.crossing!r}")
        for share in (self.whole_share, self.part_share, self.context_share):
            if not 0 <= share <= 1:
                raise ValueError(f"a share lies between 0 and 1, not {share!r}")

    @property
    def is_cosine(self) -> bool:
        """True if nothing is added to the cosine."""
        return not (self.discount or any(self.start) or any(self.end) or self.crossing)

    @property
    def fingerprint(self) -> str:
        """Identifies the parameters by which spans are scored; empty for the literal cosine."""
        if self.is_cosine:
            return ""
        values = json.dumps([self.discount, self.start, self.end, self.crossing])
        return f"span.v1-{hashlib.sha256(values.encode('ascii')).hexdigest()[:12]}"

    def share(self, boundary: str) -> float:
        """The weight of the own score of a whole of this kind (``models.text.borders.Boundary``)."""
        return self.part_share if boundary == "part" else self.whole_share

    def share_of_context(self, boundary: str) -> float:
        """The weight of the part around in the own score of a whole of this kind."""
        return 0.0 if boundary == "part" else self.context_share

    def fingerprint_of(self, encoder: str) -> str:
        """The fingerprint that calibrations are bound to: the encoder's, and the score's unless it is the cosine."""
        return encoder if self.is_cosine else f"{encoder}+{self.fingerprint}"

    def of_texts(self, query_units: int, text_units: int) -> float:
        """The term added to the cosine of a query and a whole text."""
        length = self.lengths(np.array([query_units]), max(text_units, 1))[0, -1]
        return float(length) + self.start[-1] + self.end[-1]

    def lengths(self, query_units: Int[np.ndarray, " queries"], longest: int) -> Float[np.ndarray, "queries lengths"]:
        """The term for every query and number of units of a span, from 0; zero for a query of 0 units."""
        ratio = np.maximum(query_units, 1)[:, None] / np.maximum(np.arange(longest + 1), 1)
        added = -self.discount * np.maximum(0.0, np.log(ratio)) + 0.0
        added[:, 0] = 0
        return added


# The literal score of the paper.
COSINE = SpanScore()
