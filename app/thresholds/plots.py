"""Previews drawn to files."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from app.thresholds.preview import PhrasePreview, Preview


def save_preview(path: Path, found: Preview) -> None:
    """A row a phrase: how many documents have which best score, and how many reach which; the threshold as a line."""
    figure = Figure(figsize=(9, 2.8 * len(found.phrases)), layout="constrained")
    rows = figure.subplots(len(found.phrases), 2, squeeze=False)
    for (left, right), told in zip(rows, found.phrases, strict=True):
        _draw(left, right, found, told)
        if found.threshold.value is not None and found.threshold.on == "score":
            for axes in (left, right):
                axes.axvline(found.threshold.value, color="tab:red", linestyle="--", label="threshold")
        right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _draw(left: Axes, right: Axes, found: Preview, told: PhrasePreview) -> None:
    scores = np.array(found.scores)
    left.stairs(told.histogram, scores, fill=True)
    left.set(title=told.phrase, xlabel="best score of a document", ylabel="documents", yscale="symlog")
    right.plot(scores, told.documents_above, label="documents")
    spans = np.array([np.nan if count is None else count for count in told.spans_above])
    if np.isfinite(spans).any():
        right.plot(scores, spans, label="spans")
    right.set(xlabel="threshold on score", ylabel="reaching it", yscale="symlog")
