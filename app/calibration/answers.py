"""Answers about thresholds and calibrations."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from app.answers import SpanUnits, described
from app.calibration.metrics import AtThreshold, Bar, Share
from app.requests import ModeName
from indexer.tuning import Calibration, Threshold, ThresholdChange, Tuning
from models.fields import converted


@dataclass(frozen=True, slots=True)
class ModeThreshold:
    """The default threshold of searches in one mode."""

    mode: ModeName
    threshold: Annotated[Threshold | None, described("The threshold in force; null without one.")]
    as_set: Annotated[Threshold | None, described("The threshold as it was set, possibly under another calibration.")]
    calibration: Annotated[str | None, described("The active calibration.")]

    @classmethod
    def of(cls, mode: ModeName, tuning: Tuning) -> "ModeThreshold":
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
class PhraseThreshold:
    """The threshold that gives one phrase a precision, and what few labels tell of that precision."""

    phrase: str
    labels: int
    matches: int
    raw: Annotated[float | None, described("Null if no threshold is likely to reach the precision.")] = None
    score: Annotated[float | None, described("The same threshold on the scale of score.")] = None
    precision: Annotated[Share | None, described("The expected precision, and its 95 % interval.")] = None
    found: Annotated[int, described("Documents that reach it.")] = 0


@dataclass(frozen=True, slots=True)
class PhraseThresholds:
    """The proposed threshold of every labelled phrase."""

    thresholds: tuple[PhraseThreshold, ...]


@dataclass(frozen=True, slots=True)
class Suggested:
    """The threshold for a target, such as `precision 0.9`, which `wish` names."""

    wish: str
    threshold: Annotated[AtThreshold | None, described("Null if no threshold reaches the target.")]


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
        bool, described("Precision, recall and F1 describe the population that the labels were drawn from.")
    ]
    squared_errors: Annotated[Mapping[str, float], described("Cross-validated mean squared error of each method.")]
    error_before: Annotated[float, described("The expected calibration error of raw.")]
    error_after: Annotated[float, described("The expected calibration error of score.")]
    reliability_before: tuple[Bar, ...]
    reliability_after: tuple[Bar, ...]
    suggested: tuple[Suggested, ...]
    thresholds: Annotated[tuple[AtThreshold, ...], described("Precision and recall at the raw of every label.")]
    warnings: Annotated[tuple[str, ...], described("Figures for which there are too few labels.")]


@dataclass(frozen=True, slots=True)
class CalibrationDescription:
    """A map from raw to score, the recipe it belongs to, and the labels it was fitted to."""

    id: str
    mode: ModeName
    active: bool
    method: Annotated[str, described("isotonic or logistic, whichever has the lower cross-validated error.")]
    labels: int
    note: str
    created_at: datetime
    fingerprint: Annotated[str, described("The fingerprint of the encoder that it belongs to.")]
    span_units: SpanUnits
    knots: Annotated[tuple[tuple[float, float], ...], described("Pairs of raw and score, interpolated linearly.")]
    figures: Annotated[Mapping[str, Any], described("The stored part of its report.")]

    @classmethod
    def of(cls, calibration: Calibration) -> "CalibrationDescription":
        """A calibration as an answer, which can be imported into another collection as it is."""
        return converted(calibration, cls, span_units=SpanUnits.of(calibration.bounds))


@dataclass(frozen=True, slots=True)
class CalibrationList:
    """Calibrations, the newest first."""

    calibrations: tuple[CalibrationDescription, ...]


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """The stored calibration, and the report on it."""

    calibration: CalibrationDescription
    report: Report


@dataclass(frozen=True, slots=True)
class DeletedCalibration:
    """The calibration that was deleted."""

    id: str
    status: Literal["deleted"] = "deleted"
