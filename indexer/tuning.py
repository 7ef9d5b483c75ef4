"""Tunings: the calibration and the threshold of a collection and mode that are in force."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from indexer.freshness import FreshValues
from models.errors import InvalidInput
from models.ops.calibrate import IDENTITY, Knots, least_raw, raw_floors, score_from_raw
from models.ops.similarity import cosine_from_raw
from models.types import JsonValue, SpanBounds

ThresholdOn = Literal["score", "raw"]
# The threshold from which on a match is more probable than not: a number that the second look knows.
Auto = Literal["auto"]

# Above the rounding error of converting a cosine to raw and back.
_ROUNDING = 1e-12


def check_threshold(value: object, name: str = "threshold") -> None:
    """Raise ``InvalidInput`` for a threshold that is neither None nor a number in [0, 1]; NaN is none.

    >>> check_threshold(0.8)
    >>> check_threshold(True)
    Traceback (most recent call last):
    models.errors.InvalidInput: A threshold cannot be True.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1):
        raise InvalidInput(f"A {name} cannot be {value!r}.", hint="Choose a number from 0 to 1.", field=name)


@dataclass(frozen=True, slots=True)
class CalibrationDraft:
    """A map from raw to score for one encoder, mode and span bounds, and the method that fitted it."""

    mode: str
    fingerprint: str
    bounds: SpanBounds
    knots: tuple[tuple[float, float], ...]
    method: str
    labels: int
    note: str = ""
    figures: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Calibration(CalibrationDraft):
    """A stored calibration of a collection. At most one of each mode is active."""

    id: str = field(kw_only=True)
    created_at: datetime = field(kw_only=True)
    active: bool = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold as it was set, and its raw at that time."""

    value: float
    on: ThresholdOn
    raw: Annotated[float, Field(description="The same threshold on raw.")]
    calibration: Annotated[
        str | None, Field(description="The calibration its value belongs to; null: score is raw.")
    ] = None


@dataclass(frozen=True, slots=True)
class ThresholdChange:
    """One change of a threshold; null: no threshold."""

    at: datetime
    before: Annotated[Threshold | None, Field(serialization_alias="from")]
    after: Annotated[Threshold | None, Field(serialization_alias="to")]
    note: str
    undo: Annotated[bool, Field(description="Whether it took another change back.")]


@dataclass(frozen=True)
class Tuning:
    """The calibration and the threshold of one collection and mode, read at one moment.

    >>> threshold = Threshold(0.8, "score", raw=0.8)
    >>> tuning = Tuning(threshold, calibration_id="c2", knots=np.array([[0, 0], [0.8, 0.5], [1, 1.0]]))
    >>> tuning.scores(np.array([0.4, 0.9])).tolist()
    [0.25, 0.75]
    >>> tuning.present_threshold.value  # set under another calibration, so it is translated through raw
    0.5
    """

    threshold: Threshold | None = None
    calibration_id: str | None = None
    knots: Knots = field(default_factory=lambda: IDENTITY)
    fingerprint: str | None = None  # of what the calibration belongs to

    def scores(self, raw: Float[np.ndarray, " values"]) -> Float[np.ndarray, " values"]:
        """The scores of raws."""
        return score_from_raw(raw, self.knots)

    def score(self, raw: float) -> float:
        """The score of one raw, equal to :meth:`scores` bit for bit."""
        return float(self.scores(np.array([raw]))[0])

    def raw(self, value: float, on: ThresholdOn) -> float:
        """Convert a threshold on either scale to raw."""
        return value if on == "raw" else least_raw(value, self.knots)

    @cached_property
    def present_threshold(self) -> Threshold | None:
        """The threshold under the active calibration; one set under another is translated through raw."""
        threshold = self.threshold
        if threshold is None or threshold.on == "raw" or threshold.calibration == self.calibration_id:
            return threshold
        return Threshold(self.score(threshold.raw), "score", threshold.raw, self.calibration_id)

    def made_for(self, fingerprint: str) -> "Tuning":
        """The tuning for scores of this fingerprint: a calibration of other scores is left out, and score is raw."""
        if self.calibration_id is None or self.fingerprint in (None, fingerprint):
            return self
        return Tuning(self.threshold)

    def same_as(self, other: "Tuning") -> bool:
        """True if both are equal. Calibrations are immutable, so that equal ids mean equal knots."""
        return (self.threshold, self.calibration_id) == (other.threshold, other.calibration_id)

    def cosine_floors(
        self, values: Float[np.ndarray, " thresholds"], on_raw: Bool[np.ndarray, " thresholds"]
    ) -> Float[np.ndarray, " thresholds"]:
        """Lower bounds on the cosines of spans that reach each threshold, with a margin for rounding.

        Filter spans above a bound by the raw or score that is presented.
        """
        raw = np.where(on_raw, values, raw_floors(values, self.knots))
        # A raw of 0 stands for every lower score, too.
        return np.where(raw > 0, cosine_from_raw(raw) - _ROUNDING, -np.inf)


class Tunings:
    """The tunings of all collections, read again when they are older than ``FRESH_S``. Safe to share between threads.

    ``read`` returns the tuning of a collection and mode, consistent in itself.
    """

    def __init__(self, read: Callable[[str, str], Tuning], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tunings: FreshValues[tuple[str, str], Tuning] = FreshValues(lambda key, _: read(*key), clock=clock)

    def present(self, collection: str, mode: str) -> Tuning:
        """The collection's current tuning, at most ``FRESH_S`` behind the last change."""
        return self._tunings.get((collection, mode))

    def forget(self) -> None:
        """Read again at the next call, so that the caller sees its own change."""
        self._tunings.forget()
