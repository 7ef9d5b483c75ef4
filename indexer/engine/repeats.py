"""Runs of starts that repeat within a document: only the first of equal runs are scored.

Spans of equal runs have equal scores, to the bit. Hits with equal scores are ordered by document and start, so a later
run gives a hit only if fewer than ``top_k`` hits precede it. A text of one repeated word has nothing but such runs.
"""

from collections import defaultdict
from hashlib import blake2b
from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from indexer.engine.query import Selection
from indexer.engine.selection import owners
from indexer.engine.views import Allowed, SegmentView
from indexer.kernels import RUN, RUNS

# Fewer runs of a document are scored sooner than they are compared.
MANY: Final = 64


def stride_of(view: SegmentView) -> int:
    """How many runs apart two runs are whose spans are certain not to overlap one span."""
    return 1 + -(-(2 * view.segment.recipe.bounds.longest - 2) // RUN)


def first_of_equal(
    view: SegmentView,
    allowed: Allowed,
    queries: Int[np.ndarray, " rows"],
    runs: Int[np.ndarray, " rows"],
    selection: Selection,
) -> Bool[np.ndarray, " rows"]:
    """A mask of the rows, each a query and a run, that may give one of the ``top_k`` hits; rows are in rising order.

    Take a span of a run that is left out. Each of its equals in the runs that are kept is a hit before it, or overlaps
    one. For hits that are spans, ``stride * top_k`` runs are kept, because one hit overlaps the equals of ``stride``
    runs at most. For parts, a run of each of ``top_k`` parts is kept, and for documents a single one.
    """
    kept = np.ones(len(runs), np.bool_)
    if len(runs) <= MANY:
        return kept
    segment = view.segment
    first = runs * RUN
    last = np.minimum(first + RUN, len(segment.arrays.vectors)) - 1
    begin, end = (owners(segment, units, Selection(group_by="document")) for units in (first, last))
    _, of, counts = np.unique(np.stack([queries, begin]), axis=1, return_inverse=True, return_counts=True)
    groups, most = _groups(view, first, selection)
    kept[(begin == end) & (counts[of] > max(MANY, most))] = False
    contents = _Contents(view, allowed)
    seen: defaultdict[tuple[int, bytes], set[int]] = defaultdict(set)
    for row in np.flatnonzero(~kept).tolist():
        found = seen[int(of[row]), contents.of(int(runs[row]))]
        if len(found) < most and groups[row] not in found:
            found.add(int(groups[row]))
            kept[row] = True
    return kept


def _groups(
    view: SegmentView, first: Int[np.ndarray, " rows"], selection: Selection
) -> tuple[Int[np.ndarray, " rows"], int]:
    """The run, part or document of every row, and the number of them that are kept of equal runs of a document."""
    if selection.group_by == "span":
        return first, selection.top_k * stride_of(view)
    return owners(view.segment, first, selection), selection.top_k if selection.group_by == "part" else 1


class _Contents:
    """Hashes of all that the scores and the order of a run's spans depend on, but for their document."""

    def __init__(self, view: SegmentView, allowed: Allowed) -> None:
        self._segment, self._allowed = view.segment, allowed
        self._hashes: dict[int, bytes] = {}

    def of(self, run: int) -> bytes:
        """The content of a run. Its spans end in the next one at the latest, as none has more than ``RUN`` units."""
        return self._hash(run) + self._hash(run + 1)

    def _hash(self, run: int) -> bytes:
        if run not in self._hashes:
            self._hashes[run] = self._computed(run)
        return self._hashes[run]

    def _computed(self, run: int) -> bytes:
        units = slice(run * RUN, (run + 1) * RUN)
        arrays, parts = self._segment.arrays, self._segment.part_units
        block, offset = run // RUNS, run % RUNS * RUN
        begin, end = np.searchsorted(parts, [units.start, units.stop])
        content = [arrays.vectors[units], arrays.scales[units], arrays.borders[units], parts[begin:end] - units.start]
        if block < len(arrays.norm_codes):  # code 0 stands for no span
            content.append(arrays.norm_codes[block, :, offset : offset + RUN] > 0)
        if self._allowed.mask is not None:
            content.append(self._allowed.mask[units])
        return blake2b(b"".join(each.tobytes() for each in content), digest_size=16).digest()
