"""Where hits end: the threshold of a request, or else the collection's, and how it is kept to."""

import numpy as np

from app.search.types import SearchRequest, UsedThreshold
from indexer.tuning import ThresholdOn, Tuning
from models.errors import InvalidInput


def check_threshold(value: float | None) -> None:
    """Raise ``InvalidInput`` for what no similarity can be compared with, NaN included."""
    if value is not None and not 0 <= value <= 1:
        raise InvalidInput(f"A threshold cannot be {value}.", hint="Choose a number from 0 to 1.", field="threshold")


def used_threshold(request: SearchRequest, tuning: Tuning) -> UsedThreshold:
    """The threshold that a request is answered with: its own, else the collection's, else none.

    >>> from indexer.tuning import Threshold
    >>> used_threshold(SearchRequest("calls", text="a"), Tuning(Threshold(0.8, "score", raw=0.8)))
    UsedThreshold(value=0.8, on='score', source='collection', calibration=None)
    """
    kept = tuning.present_threshold
    if request.threshold is not None:
        return UsedThreshold(request.threshold, request.threshold_on, "request", tuning.calibration_id)
    if kept is not None:
        return UsedThreshold(kept.value, kept.on, "collection", tuning.calibration_id)
    return UsedThreshold(None, request.threshold_on, "none", tuning.calibration_id)


def cosine_floor(value: float, on: ThresholdOn, tuning: Tuning) -> float:
    """A cosine that nothing lies under which reaches the threshold: a little lower, as raw and score are rounded.

    What is found above it has to be judged by what it shows.
    """
    return float(tuning.cosine_floors(np.array([value], np.float64), np.array([on == "raw"]))[0])
