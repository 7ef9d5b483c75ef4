"""The threshold of a request, else of the collection, and the cosines that may reach it."""

import numpy as np
from jaxtyping import Bool, Float

from app.requests import SearchRequest
from app.search.answers import UsedThreshold
from indexer.tuning import ThresholdOn, Tuning
from models.errors import InvalidInput
from models.ops.similarity import raws


def used_threshold(request: SearchRequest, tuning: Tuning, decision_point: float | None = None) -> UsedThreshold:
    """The threshold that applies to a request: its own, else the collection's, else none.

    ``decision_point`` is the raw that ``auto`` stands for, None in a mode with another scale, where verdicts decide.

    >>> from indexer.tuning import Threshold
    >>> used_threshold(SearchRequest("calls", text="a"), Tuning(Threshold(0.8, "score", raw=0.8)))
    UsedThreshold(value=0.8, on='score', source='collection', calibration=None)
    """
    threshold = tuning.present_threshold
    if request.threshold == "auto":
        return UsedThreshold(decision_point, "raw", "auto", tuning.calibration_id)
    if request.threshold is not None:
        return UsedThreshold(request.threshold, request.threshold_on, "request", tuning.calibration_id)
    if threshold is not None:
        return UsedThreshold(threshold.value, threshold.on, "collection", tuning.calibration_id)
    return UsedThreshold(None, request.threshold_on, "none", tuning.calibration_id)


def no_number(mode: str) -> InvalidInput:
    """The error of a threshold ``auto`` that is no number in a mode: it does not apply to hits that were not read."""
    return InvalidInput(
        f"In mode {mode} the threshold auto holds for hits of the second look alone.",
        hint="Give a number, or choose mode best_span.",
        field="threshold",
    )


def cosine_floor(value: float, on: ThresholdOn, tuning: Tuning) -> float:
    """A lower bound on the cosines of spans that reach the threshold, with a margin for rounding.

    Filter spans above it by the raw or score that is presented.
    """
    return float(tuning.cosine_floors(np.array([value], np.float64), np.array([on == "raw"]))[0])


def reaching(cosines: Float[np.ndarray, " hits"], used: UsedThreshold, tuning: Tuning) -> Bool[np.ndarray, " hits"]:
    """A mask of the cosines that reach a threshold as hits show it.

    >>> reaching(np.array([0.4, 0.8]), UsedThreshold(0.9, "raw", "request", None), Tuning()).tolist()
    [False, True]
    """
    if used.value is None:
        return np.ones(len(cosines), bool)
    raw = raws(cosines)
    return (raw if used.on == "raw" else tuning.scores(raw)) >= used.value
