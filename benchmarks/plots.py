"""Cost against corpus size, a line an engine."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.report import Result


def series(results: Sequence[Result], key: str) -> dict[str, list[tuple[int, float]]]:
    """One figure of every engine by the number of units, smallest first; of several runs the last one counts.

    >>> series([{"engine": "scan", "units": 20, "ms": 2.0}, {"engine": "scan", "units": 10, "ms": 1.0}], "ms")
    {'scan': [(10, 1.0), (20, 2.0)]}
    """
    found: dict[str, dict[int, float]] = {}
    for result in results:
        if result.get(key) is not None:
            found.setdefault(result["engine"], {})[result["units"]] = result[key]
    return {engine: sorted(points.items()) for engine, points in found.items()}


def save_plot(path: Path, results: Sequence[Result]) -> None:
    """Both axes are logarithmic: a cost in proportion to the corpus rises by a decade a decade."""
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    panels = (("p50_ms", "median ms for one query"), ("bytes_per_unit", "bytes per unit"))
    for place, (key, label) in enumerate(panels, start=1):
        axes = figure.add_subplot(1, 2, place, xlabel="units", ylabel=label, xscale="log", yscale="log")
        for engine, points in series(results, key).items():
            axes.plot(*zip(*points, strict=True), marker="o", label=engine)
        axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
