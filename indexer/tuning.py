"""What turns cosines into answers beside the vectors: the calibration and the threshold that are in force."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from models.ops.calibrate import IDENTITY, Knots, least_raw, raw_floors, score_from_raw
from models.ops.similarity import cosine_from_raw
from models.types import JsonValue, SpanBounds

ThresholdOn = Literal["score", "raw"]

# More than the way from a cosine to raw and back may be off by.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class CalibrationDraft:
    """A map from raw to score that holds for one encoder, mode and span bounds, and how it was found."""

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
    """A calibration that is kept with a collection; at most one of a mode is active."""

    id: str = field(kw_only=True)
    created_at: datetime = field(kw_only=True)
    active: bool = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold as it was set: its value and scale, the calibration of that time, and what it was on raw then."""

    value: float
    on: ThresholdOn
    raw: float
    calibration: str | None = None


@dataclass(frozen=True, slots=True)
class ThresholdChange:
    """One entry of a threshold's history. No threshold is None, before or after."""

    at: datetime
    before: Threshold | None
    after: Threshold | None
    note: str
    undo: bool


@dataclass(frozen=True)
class Tuning:
    """The calibration and the threshold of one collection and mode, as they were at one moment.

    >>> set_once = Threshold(0.8, "score", raw=0.8)
    >>> now = Tuning(threshold=set_once, calibration_id="c2", knots=np.array([[0, 0], [0.8, 0.5], [1, 1.0]]))
    >>> now.scores(np.array([0.4, 0.9])).tolist()
    [0.25, 0.75]
    >>> now.present_threshold.value  # as it was set under another calibration, what it means is told by its raw
    0.5
    """

    threshold: Threshold | None = None
    calibration_id: str | None = None
    knots: Knots = field(default_factory=lambda: IDENTITY)

    def scores(self, raw: Float[np.ndarray, " values"]) -> Float[np.ndarray, " values"]:
        """The scores of raws."""
        return score_from_raw(raw, self.knots)

    def score(self, raw: float) -> float:
        """The score of one raw, to the last bit that of :meth:`scores`."""
        return float(self.scores(np.array([raw]))[0])

    def raw(self, value: float, on: ThresholdOn) -> float:
        """What a threshold on either scale is on raw."""
        return value if on == "raw" else least_raw(value, self.knots)

    @cached_property
    def present_threshold(self) -> Threshold | None:
        """The collection's threshold, translated through raw if another calibration is active than when it was set."""
        kept = self.threshold
        if kept is None or kept.on == "raw" or kept.calibration == self.calibration_id:
            return kept
        return Threshold(self.score(kept.raw), "score", kept.raw, self.calibration_id)

    def is_that_of(self, other: "Tuning") -> bool:
        """Whether both say the same. A calibration never changes: its id stands for its knots."""
        return (self.threshold, self.calibration_id) == (other.threshold, other.calibration_id)

    def cosine_floors(
        self, values: Float[np.ndarray, " thresholds"], on_raw: Bool[np.ndarray, " thresholds"]
    ) -> Float[np.ndarray, " thresholds"]:
        """For every threshold a cosine that nothing lies under which reaches it: a little lower, as all is rounded.

        What is found above it has to be judged by the raw, or the score, that it shows.
        """
        raw = np.where(on_raw, values, raw_floors(values, self.knots))
        return cosine_from_raw(raw) - _ROUNDING
