"""Fit a calibration to labels, and report on its quality."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float

from app.answers import json_values
from app.calibration.answers import Report, Suggested
from app.calibration.fitting import Fit, fit
from app.calibration.labels import MOST_DEGREE, Label
from app.calibration.metrics import (
    Sampled,
    ThresholdTargets,
    at_thresholds,
    calibration_error,
    for_best_f1,
    for_precision,
    for_recall,
    reliability,
    unseen_matches,
)
from app.search.mode import AnyMode
from indexer.tuning import CalibrationDraft
from indexer.types import Recipe
from models.ops.calibrate import score_from_raw
from models.types import JsonValue

# The widest interval without a warning.
_WIDE = 0.15
# Possible unlabelled matches, as a share of the known ones, from which a warning is given.
_UNSEEN = 0.1
# With fewer labels above a threshold, or fewer matches, intervals are unreliable.
_FEW = 30
_STORED_FIGURES = ("matches", "weighted", "squared_errors", "error_before", "error_after", "suggested", "warnings")


def fit_calibration(
    labels: Sequence[Label],
    raw: Float[np.ndarray, " labels"],
    mode: AnyMode,
    recipe: Recipe,
    note: str,
    targets: ThresholdTargets,
) -> tuple[CalibrationDraft, Report]:
    """A calibration for a recipe from labels and their raws. Raises ``LabelsRefused`` if degree decreases with raw."""
    degree = np.array([label.degree / MOST_DEGREE for label in labels])
    best = fit(raw, degree, [label.phrase for label in labels])
    report = _report(best, raw, degree, labels, targets)
    knots = tuple((float(x), float(y)) for x, y in best.knots)
    return (
        CalibrationDraft(
            mode.name, mode.fingerprint(recipe), recipe.bounds, knots, best.method, len(labels), note, _figures(report)
        ),
        report,
    )


def _figures(report: Report) -> dict[str, JsonValue]:
    """The part of the report that is stored with the calibration."""
    values = json_values(report)
    return {name: values[name] for name in _STORED_FIGURES}


def _report(
    best: Fit,
    raw: Float[np.ndarray, " labels"],
    degree: Float[np.ndarray, " labels"],
    labels: Sequence[Label],
    targets: ThresholdTargets,
) -> Report:
    match = np.array([label.is_match for label in labels])
    sampled = _sampled(labels)
    thresholds = at_thresholds(raw, match, lambda values: score_from_raw(values, best.knots), sampled)
    suggested = (
        Suggested(f"precision {targets.precision:g}", for_precision(thresholds, targets.precision)),
        Suggested(f"recall {targets.recall:g}", for_recall(thresholds, targets.recall)),
        Suggested("best F1", for_best_f1(thresholds)),
    )
    before, after = reliability(raw, degree), reliability(best.unseen, degree)
    return Report(
        method=best.method,
        labels=len(raw),
        matches=int(match.sum()),
        weighted=sampled is not None,
        squared_errors={str(name): error for name, error in best.errors.items()},
        error_before=calibration_error(before),
        error_after=calibration_error(after),
        reliability_before=before,
        reliability_after=after,
        suggested=suggested,
        thresholds=thresholds,
        warnings=tuple(_warnings(suggested, match, sampled)),
    )


def _sampled(labels: Sequence[Label]) -> Sampled | None:
    """The sampling design of the labels; None without probabilities."""
    chances = [label.probability for label in labels if label.probability is not None]
    if not chances:
        return None
    return Sampled(1 / np.array(chances), np.array([label.stratum for label in labels]))


def _warnings(
    suggested: Sequence[Suggested], match: Bool[np.ndarray, " labels"], sampled: Sampled | None
) -> Iterator[str]:
    for name, count in (("matches", int(match.sum())), ("labels that do not match", int((~match).sum()))):
        if count < _FEW:
            yield f"There are only {count} {name}; at least {_FEW} make the figures reliable."
    for one in suggested:
        yield from _doubts(one)
    if sampled is not None:
        unseen = unseen_matches(sampled.weights, sampled.strata, match)
        if unseen > _UNSEEN * (matches := float(sampled.weights @ match)):
            yield (
                f"About {matches:,.0f} matches are known; up to {unseen:,.0f} more may lie where no label is a match: "
                "recall is uncertain until more pairs far below the threshold are labelled."
            )


def _doubts(suggested: Suggested) -> list[str]:
    """Warnings about a target that too few labels support."""
    at = suggested.threshold
    if at is None:
        return [f"No threshold has {suggested.wish} on these labels."]
    share = at.recall if suggested.wish.startswith("recall") else at.precision
    name = "recall" if share is at.recall else "precision"
    if at.found < _FEW:
        return [f"For {suggested.wish}, only {at.found} labels reach the threshold: label more pairs above it."]
    if share.width > _WIDE:
        return [
            f"For {suggested.wish}, the interval of {name} is {share.low:.2f} to {share.high:.2f}: label more pairs."
        ]
    return []
