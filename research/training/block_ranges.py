"""The best span of every range of units, for ranges of several sizes: how the best cosine grows with size."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Float32

from indexer import kernels
from indexer.engine.query import Filter
from indexer.engine.scan import code_queries
from indexer.engine.snapshot import SegmentView, Snapshot


def best_of_ranges(
    snapshot: Snapshot, query: Float32[np.ndarray, " dim"], sizes: Sequence[int]
) -> Mapping[int, Float[np.ndarray, " _ranges"]]:
    """For every size the best cosines of the consecutive ranges of so many units; a rest is left out.

    Cosines are approximate, with the small error of the scan (ADR 2). A span belongs to the range that it starts in.
    """
    starts = np.concatenate([np.empty(0), *(_best_of_starts(view, query) for view in snapshot.views)])
    return {size: ranges_of(starts, size) for size in sizes}


def ranges_of(best: Float[np.ndarray, " units"], size: int) -> Float[np.ndarray, " ranges"]:
    """The largest of each ``size`` neighbours.

    >>> ranges_of(np.array([0.1, 0.3, 0.2, 0.0, 0.9]), 2).tolist()
    [0.3, 0.2]
    """
    ranges = len(best) // size
    return best[: ranges * size].reshape(ranges, size).max(axis=1)


def _best_of_starts(view: SegmentView, query: Float32[np.ndarray, " dim"]) -> Float[np.ndarray, " units"]:
    """The best cosine of the spans that start at each unit; -1 where none does."""
    segment, allowed, coded = view.segment, view.allowed(Filter()), code_queries(query[None])
    best = kernels.best_of_starts(segment.arrays, coded.codes[0], coded.steps[0], allowed.blocks, allowed.mask)
    return np.maximum(best[: segment.manifest.units], -1.0).astype(np.float64)
