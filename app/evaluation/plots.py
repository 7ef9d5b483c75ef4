"""Figures drawn to files; no window, no state shared between figures."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from models.errors import InvalidInput


def check_format(path: Path) -> None:
    """Refuse, before anything is computed, a file that a plot cannot be written to."""
    known = Figure().canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise InvalidInput(
            f"A plot cannot be written as {path.name}.",
            hint=f"Give the file one of these endings: {', '.join(sorted(known))}.",
            field="plot",
        )


def save_curves(path: Path, curves: Mapping[str, Mapping[int, float]], x_label: str, y_label: str) -> None:
    """One line a name, from x to y; the file's ending says its format."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel=x_label, ylabel=y_label)
    for name, points in curves.items():
        axes.plot(list(points), list(points.values()), marker="o", label=name)
    axes.set_xticks(sorted({x for points in curves.values() for x in points}))
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
