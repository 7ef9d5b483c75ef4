"""Previews and reports drawn to files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from app.calibration.preview import PhrasePreview, Preview
from research.evaluation.plots import check_format

if TYPE_CHECKING:
    from app.calibration.answers import Report

__all__ = ["check_format", "save_preview", "save_report"]


def save_preview(path: Path, preview: Preview) -> None:
    """A row a phrase: how many documents have which best score, and how many reach which; the threshold as a line."""
    figure = Figure(figsize=(9, 2.8 * len(preview.phrases)), layout="constrained")
    rows = figure.subplots(len(preview.phrases), 2, squeeze=False)
    for (left, right), phrase in zip(rows, preview.phrases, strict=True):
        _draw(left, right, preview, phrase)
        if phrase.threshold.value is not None and phrase.threshold.on == "score":
            for axes in (left, right):
                axes.axvline(phrase.threshold.value, color="tab:red", linestyle="--", label="threshold")
        if preview.no_match is not None:
            for axes in (left, right):
                axes.axvspan(0, preview.no_match.high, color="grey", alpha=0.15, label="no match looks like this")
        right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _draw(left: Axes, right: Axes, preview: Preview, phrase: PhrasePreview) -> None:
    scores = np.array(preview.scores)
    left.stairs(phrase.histogram, scores, fill=True)
    left.set(title=phrase.phrase, xlabel="best score of a document", ylabel="documents", yscale="symlog")
    right.plot(scores, phrase.documents_above, label="documents")
    spans = np.array([np.nan if count is None else count for count in phrase.spans_above])
    if np.isfinite(spans).any():
        right.plot(scores, spans, label="spans")
    right.set(xlabel="threshold on score", ylabel="reaching it", yscale="symlog")


def save_report(path: Path, report: "Report", knots: Sequence[tuple[float, float]]) -> None:
    """Reliability before and after, the map itself, and precision and recall with their intervals."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for name, bars in (("raw", report.reliability_before), ("score", report.reliability_after)):
        left.plot([bar.score for bar in bars], [bar.observed for bar in bars], marker="o", label=name)
    left.plot([0, 1], [0, 1], color="grey", linewidth=0.5)
    left.set(title="reliability", xlabel="similarity", ylabel="share of a match, as labelled")
    left.legend()
    middle.plot(*zip(*knots, strict=True))
    middle.set(title=f"the map ({report.method})", xlabel="raw", ylabel="score")
    scores = [at.score for at in report.thresholds]
    for name in ("precision", "recall"):
        shares = [getattr(at, name) for at in report.thresholds]
        right.plot(scores, [share.value for share in shares], label=name)
        right.fill_between(scores, [share.low for share in shares], [share.high for share in shares], alpha=0.2)
    right.set(title="what a threshold finds", xlabel="threshold on score")
    right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
