"""Cost against corpus size, a line an engine; and what candidates find against what they take, a line a way."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from research.benchmarks.report import Result


def series(results: Sequence[Result], key: str) -> dict[str, list[tuple[int, float]]]:
    """One figure of every engine by the number of units, smallest first; of several runs the last one counts.

    >>> series([{"engine": "scan", "units": 20, "ms": 2.0}, {"engine": "scan", "units": 10, "ms": 1.0}], "ms")
    {'scan': [(10, 1.0), (20, 2.0)]}
    """
    points: dict[str, dict[int, float]] = {}
    for result in results:
        if result.get(key) is not None:
            points.setdefault(result["engine"], {})[result["units"]] = result[key]
    return {engine: sorted(pairs.items()) for engine, pairs in points.items()}


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


def fronts(rows: Sequence[Result]) -> dict[str, list[tuple[float, float]]]:
    """Median milliseconds and recall of every candidate index, fastest setting first.

    >>> fronts([{"index": "a", "p50_ms": 2.0, "recall": 0.9}, {"index": "a", "p50_ms": 1.0, "recall": 0.8}])
    {'a': [(1.0, 0.8), (2.0, 0.9)]}
    """
    points: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        points.setdefault(row["index"], []).append((row["p50_ms"], row["recall"]))
    return {index: sorted(pairs) for index, pairs in points.items()}


def save_fronts(path: Path, rows: Sequence[Result]) -> None:
    """Plot recall against milliseconds, a line for each index."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    label = "share of the exact ten best spans in the chosen blocks"
    axes = figure.add_subplot(xlabel="median ms for one query, one thread", ylabel=label, xscale="log")
    for index, points in fronts(rows).items():
        axes.plot(*zip(*points, strict=True), marker="o", label=index)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
