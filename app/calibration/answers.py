"""Answers about thresholds and calibrations. They import no scikit-learn: a server describes them when it starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from app.answers import described
from app.calibration.metrics import AtThreshold, Bar
from app.collections.answers import SpanUnits
from app.search.types import Mode
from indexer.tuning import Calibration, Threshold, ThresholdChange, Tuning


@dataclass(frozen=True, slots=True)
class ModeThreshold:
    """The threshold of searches in one mode that give none."""

    mode: Mode
    threshold: Annotated[Threshold | None, described("What applies now; null: none.")]
    as_set: Annotated[Threshold | None, described("What was set: it may have been under another calibration.")]
    calibration: Annotated[str | None, described("The active calibration.")]

    @classmethod
    def of(cls, mode: Mode, tuning: Tuning) -> "ModeThreshold":
        """The threshold of a tuning as an answer."""
        return cls(mode, tuning.present_threshold, tuning.threshold, tuning.calibration_id)


@dataclass(frozen=True, slots=True)
class ModeThresholds:
    """The thresholds of a collection, by mode."""

    thresholds: tuple[ModeThreshold, ...]


@dataclass(frozen=True, slots=True)
class ThresholdHistory:
    """All changes of a threshold, the newest first."""

    changes: tuple[ThresholdChange, ...]


@dataclass(frozen=True, slots=True)
class Suggested:
    """The threshold for a target, the `wish`."""

    wish: str
    threshold: Annotated[AtThreshold | None, described("Null where no threshold reaches it.")]


@dataclass(frozen=True, slots=True)
class Report:
    """The report on a calibration. Errors and reliability `after` are cross-validated.

    Precision, recall and F1 are `weighted` by the inverse probabilities of the labels where these are known: they
    then describe all pairs that the labels were drawn from. The map is not weighted: sampling by raw does not bias it.
    """

    method: str
    labels: int
    matches: int
    weighted: Annotated[
        bool, described("Whether precision, recall and F1 are those of what the labels were drawn from.")
    ]
    squared_errors: Annotated[Mapping[str, float], described("Of both methods, on labels they had not seen.")]
    error_before: Annotated[float, described("How far raw is from what people said, on average.")]
    error_after: Annotated[float, described("The same of score.")]
    reliability_before: tuple[Bar, ...]
    reliability_after: tuple[Bar, ...]
    suggested: tuple[Suggested, ...]
    thresholds: Annotated[tuple[AtThreshold, ...], described("Precision and recall at the raw of every label, rising.")]
    warnings: Annotated[tuple[str, ...], described("Where the labels are too few for what the figures claim.")]


@dataclass(frozen=True, slots=True)
class CalibrationDescription:
    """A map from raw to score, and what it was made for and of."""

    id: str
    mode: Mode
    active: bool
    method: Annotated[str, described("isotonic or logistic, whichever did better on labels it had not seen.")]
    labels: int
    note: str
    created_at: datetime
    fingerprint: Annotated[str, described("The encoder it was made for.")]
    span_units: SpanUnits
    knots: Annotated[tuple[tuple[float, float], ...], described("Raw and score; straight lines lie between.")]
    figures: Annotated[Mapping[str, Any], described("What is kept of the report that came with it.")]

    @classmethod
    def of(cls, calibration: Calibration) -> "CalibrationDescription":
        """A calibration as an answer, which can be imported into another collection as it is."""
        return cls(
            id=calibration.id,
            mode=cast("Mode", calibration.mode),
            active=calibration.active,
            method=calibration.method,
            labels=calibration.labels,
            note=calibration.note,
            created_at=calibration.created_at,
            fingerprint=calibration.fingerprint,
            span_units=SpanUnits.of(calibration.bounds),
            knots=calibration.knots,
            figures=calibration.figures,
        )


@dataclass(frozen=True, slots=True)
class CalibrationList:
    """Calibrations, the newest first."""

    calibrations: tuple[CalibrationDescription, ...]


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """The calibration that was kept, and the report on it."""

    calibration: CalibrationDescription
    report: Report


@dataclass(frozen=True, slots=True)
class DeletedCalibration:
    """The calibration that was deleted."""

    id: str
    status: Literal["deleted"] = "deleted"
