"""Does a score see what differs? Scores of contrast lines, by cell and by kind, and at the threshold.

A line has a phrase and four texts (``research.training.contrast_data``). The score of a text is that of its best hit.
A cell is the share of lines in which a text that says the phrase scores above one that does not.
"""

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final, Literal

import numpy as np
from jaxtyping import Float

from research.training.contrast_data import ContrastLine

Half = Literal["chooses", "reported", "all"]
# The columns of a line, in the order of ``ContrastLine.pairs``.
CELLS: Final[Mapping[str, tuple[int, int]]] = {
    "same_over_differs": (0, 2),
    "same_over_differs_far": (0, 3),
    "same_close_over_differs": (1, 2),
    "same_close_over_differs_far": (1, 3),
}
Scores = Float[np.ndarray, "lines 4"]


@dataclass(frozen=True, slots=True)
class ContrastReport:
    """``pairwise`` is the mean of the cells; ``right`` and ``wrong`` are the shares at the threshold or above."""

    lines: int
    pairwise: float
    cells: Mapping[str, float]
    kinds: Mapping[str, float]
    auc: float
    right: float
    wrong: float


def half_of(id: str) -> Half:
    """The half that a line belongs to: one may choose, the other is reported.

    >>> half_of("d001"), half_of("d004")
    ('reported', 'chooses')
    """
    return "reported" if zlib.crc32(id.encode()) % 2 else "chooses"


def report(lines: Sequence[ContrastLine], scores: Scores, threshold: float, half: Half = "reported") -> ContrastReport:
    """The figures of one half of the lines."""
    chosen = [number for number, line in enumerate(lines) if half in ("all", half_of(line.id))]
    of_half = scores[chosen]
    above = {name: of_half[:, right] > of_half[:, wrong] for name, (right, wrong) in CELLS.items()}
    kinds: dict[str, list[float]] = defaultdict(list)
    for at, number in enumerate(chosen):
        kinds[lines[number].kind].append(mean(float(cell[at]) for cell in above.values()))
    right, wrong = of_half[:, :2].ravel(), of_half[:, 2:].ravel()
    cells = {name: float(cell.mean()) for name, cell in above.items()}
    return ContrastReport(
        len(chosen),
        mean(cells.values()),
        cells,
        {kind: mean(values) for kind, values in sorted(kinds.items())},
        area(right, wrong),
        float((right >= threshold).mean()),
        float((wrong >= threshold).mean()),
    )


def area(right: Float[np.ndarray, " right"], wrong: Float[np.ndarray, " wrong"]) -> float:
    """The area under the ROC curve: the share of pairs in which the right one is above, ties counting half.

    >>> area(np.array([0.9, 0.4]), np.array([0.4, 0.1]))
    0.875
    """
    above = right[:, None] - wrong[None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)
