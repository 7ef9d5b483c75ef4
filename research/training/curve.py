"""The loss curve of a run: ``loss.csv`` with a row a step, and ``loss.png`` drawn from it."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

FILE = "loss.csv"
PICTURE = "loss.png"
_NOT_LOSSES = ("step", "seconds")
_COLUMNS = 3


def append_row(folder: Path, step: int, losses: Mapping[str, float], seconds: float) -> None:
    """Add a step (counted from 0) to the curve."""
    path = folder / FILE
    fresh = not path.is_file() or not path.stat().st_size
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(["step", *losses, "seconds"])
        writer.writerow([step, *(f"{value:.6f}" for value in losses.values()), f"{seconds:.3f}"])


def cut(folder: Path, steps: int) -> None:
    """Keep the rows of the first so many steps: the others will be made again."""
    path = folder / FILE
    if path.is_file():
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[: steps + 1] if steps else ()), "utf-8")


def read_losses(folder: Path) -> dict[str, list[float]]:
    """Every loss by its name, step by step; none where no step has been made."""
    path = folder / FILE
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in (rows[0] if rows else ()) if name not in _NOT_LOSSES]
    return {name: [float(row[name]) for row in rows] for name in names}


def draw(folder: Path) -> None:
    """Draw the sum of all losses and each of them: thin as it was, thick as a running mean."""
    losses = read_losses(folder)
    if not losses:
        return
    curves = {"sum": [math.fsum(step) for step in zip(*losses.values(), strict=True)], **losses}
    rows = math.ceil(len(curves) / _COLUMNS)
    figure = Figure(figsize=(4 * _COLUMNS, 2.5 * rows), layout="constrained")
    for place, (name, values) in enumerate(curves.items(), start=1):
        axes = figure.add_subplot(rows, _COLUMNS, place, title=name, xlabel="step")
        axes.plot(values, color="tab:blue", linewidth=0.5, alpha=0.5)
        axes.plot(running_mean(values, window=1 + len(values) // 20), color="tab:blue", linewidth=1.8)
        axes.grid(alpha=0.3)
    figure.savefig(folder / PICTURE, dpi=100)


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """The mean of every value and those before it, as many as the window holds.

    >>> running_mean([4.0, 2.0, 0.0, 1.0], window=2)
    [4.0, 3.0, 1.0, 0.5]
    """
    runs = (values[max(0, end - window) : end] for end in range(1, len(values) + 1))
    return [sum(run) / len(run) for run in runs]
