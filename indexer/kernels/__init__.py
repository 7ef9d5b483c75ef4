"""The loops that must run at the speed of memory: the only importers of numba, with the kernels of representations.

Each has a naive oracle in ``tests/reference.py``. ``indexer.segments.layout`` defines block and code.
"""

import models.kernels  # noqa: F401  loads numba, before anything below does
from indexer.kernels.batch import pack, scan_batch, scan_packed
from indexer.kernels.best_spans import best_in_whole_spans
from indexer.kernels.common import NO_SPAN, RUN, RUNS, on_one_thread, threading_layer
from indexer.kernels.exact import rescore
from indexer.kernels.norms import inverse_norms
from indexer.kernels.single import scan
from indexer.kernels.spans import run_scores, spans_above
from indexer.kernels.starts import OUT_OF_REACH, best_of_starts, spans_reaching
from indexer.kernels.suppression import non_overlapping
from indexer.kernels.whole_spans import whole_cosines
from indexer.kernels.words import add_bm25, best_windows, group_units, occurrences, whole_spans_with
from models.kernels.llvm import LANES

__all__ = [
    "LANES",
    "NO_SPAN",
    "OUT_OF_REACH",
    "RUN",
    "RUNS",
    "add_bm25",
    "best_in_whole_spans",
    "best_of_starts",
    "best_windows",
    "group_units",
    "inverse_norms",
    "non_overlapping",
    "occurrences",
    "on_one_thread",
    "pack",
    "rescore",
    "run_scores",
    "scan",
    "scan_batch",
    "scan_packed",
    "spans_above",
    "spans_reaching",
    "threading_layer",
    "whole_cosines",
    "whole_spans_with",
]
