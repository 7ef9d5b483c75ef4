"""Nuggets on their way into a segment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int

from indexer.representations.base import EncodedWindow
from indexer.representations.columns import ArrayRows
from models.encoders.nuggets.base import Nuggets
from models.ops.quantization import quantize_directions


@dataclass(frozen=True, slots=True)
class NuggetRows(ArrayRows):
    """Nuggets to write, in order.

    ``spans`` are the characters of the nuggets' tokens in the document. ``units`` ascend, and are counted from the
    first unit that is written with them.
    """

    vectors: Float32[np.ndarray, "nuggets dim"]
    spans: Int[np.ndarray, "nuggets 2"]
    units: Int[np.ndarray, " nuggets"]

    def columns(self) -> tuple[np.ndarray, ...]:
        """Return the columns as the files store them, with quantised vectors."""
        return (*quantize_directions(self.vectors), self.spans, self.units)


def rows_of(window: EncodedWindow) -> NuggetRows:
    """Return the nuggets of a window that are stored, with the places of their tokens.

    Windows overlap, so a token is read in several: as with units, the window counts in which it is most central. A
    window that would be left without nuggets keeps its best one, so that every text has some.
    """
    units, nuggets = window.units, _nuggets(window)
    inside = (nuggets.tokens >= units.first[0]) & (nuggets.tokens < units.last[-1])
    rows = np.flatnonzero(inside) if inside.any() else np.argsort(-nuggets.scores, kind="stable")[:1]
    tokens = nuggets.tokens[rows]
    # A token between two units counts as one of the second.
    owners = np.minimum(np.searchsorted(units.last, tokens, side="right"), len(units) - 1)
    spans = units.tokens.spans[tokens] + window.part_start
    return NuggetRows(nuggets.vectors[rows], spans, owners + window.first_unit)


def _nuggets(window: EncodedWindow) -> Nuggets:
    nuggets: Nuggets = window.output
    return nuggets


def joined(rows: Sequence[NuggetRows], dim: int) -> NuggetRows:
    """Concatenate nuggets whose units are counted from the same first unit.

    >>> len(joined([], dim=4))
    0
    """
    return NuggetRows(
        np.concatenate([np.zeros((0, dim), np.float32), *(each.vectors for each in rows)]),
        np.concatenate([np.zeros((0, 2), np.int64), *(each.spans for each in rows)]),
        np.concatenate([np.zeros(0, np.int64), *(each.units for each in rows)]),
    )
