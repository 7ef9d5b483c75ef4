"""The loops that must run at the speed of memory: the only importers of numba.

Each has a naive oracle in ``tests/reference.py``. Block and code are those of ``indexer.segments.layout``.
"""

from indexer.engine.kernels.batch import pack, scan_many, scan_packed
from indexer.engine.kernels.common import NO_SPAN, RUN, RUNS, threading_layer
from indexer.engine.kernels.exact import rescore
from indexer.engine.kernels.intrinsics import LANES
from indexer.engine.kernels.norms import inverse_norms
from indexer.engine.kernels.single import scan
from indexer.engine.kernels.spans import run_cosines, spans_above
from indexer.engine.kernels.starts import NOT_WANTED, best_of_starts, spans_reaching

__all__ = [
    "LANES",
    "NOT_WANTED",
    "NO_SPAN",
    "RUN",
    "RUNS",
    "best_of_starts",
    "inverse_norms",
    "pack",
    "rescore",
    "run_cosines",
    "scan",
    "scan_many",
    "scan_packed",
    "spans_above",
    "spans_reaching",
    "threading_layer",
]
