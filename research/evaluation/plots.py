"""Figures drawn to files; no window, no state shared between figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from matplotlib.figure import Figure

from models.errors import InvalidInput

# From x to y.
Curve: TypeAlias = Mapping[int, float] | Mapping[float, float]


def check_format(path: Path) -> None:
    """Refuse, before anything is computed, a file that a plot cannot be written to."""
    formats = Figure().canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in formats:
        raise InvalidInput(
            f"A plot cannot be written as {path.name}.",
            hint=f"Give the file one of these endings: {', '.join(sorted(formats))}.",
            field="plot",
        )


def save_curves(path: Path, curves: Mapping[str, Curve], x_label: str, y_label: str) -> None:
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


def save_bars(path: Path, bars: Mapping[str, Sequence[float]], names: Sequence[str], y_label: str) -> None:
    """Groups of bars, one group a name and one bar a kind."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(ylabel=y_label)
    width = 0.8 / len(bars)
    for number, (kind, heights) in enumerate(bars.items()):
        axes.bar([place + number * width for place in range(len(names))], heights, width, label=kind)
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(names))], names)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines by name over the same x, and what stands under and beside them."""

    lines: Mapping[str, Mapping[int, float]]
    x_label: str
    y_label: str


def save_panels(path: Path, panels: Sequence[Panel]) -> None:
    """Panels side by side, each with a scale of its own."""
    figure = Figure(figsize=(4.5 * len(panels), 3.6), layout="constrained")
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), number + 1, xlabel=panel.x_label, ylabel=panel.y_label)
        for name, points in panel.lines.items():
            axes.plot(list(points), list(points.values()), label=name)
        axes.grid(alpha=0.3)
        if len(panel.lines) > 1:
            axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
