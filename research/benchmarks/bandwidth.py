"""Benchmark of plain reads of a case's vectors, with nothing else to do: their speed is the limit of every scan.

python -m research.benchmarks.bandwidth CASE --threads 2
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median

import numpy as np
from jaxtyping import Int64
from numba import njit, prange

from indexer.kernels.intrinsics import prefetch
from research.benchmarks.case import Case
from research.benchmarks.worker import limit_threads

_REPEATS = 30
# Rows a thread reads at once, and how far ahead memory is asked for what comes next.
_ROWS = 256
_AHEAD = 8
_CACHE_LINE = 64


@njit(cache=True)  # type: ignore[untyped-decorator]
def _sum(rows: Int64[np.ndarray, "rows words"]) -> np.int64:
    # Words of eight bytes: the adding must never be what takes the time.
    total = np.int64(0)
    for row in range(len(rows)):
        for word in range(0, rows.shape[1], _CACHE_LINE // 8):
            prefetch(rows, (row + _AHEAD) * rows.shape[1] + word)
        for word in range(rows.shape[1]):
            total += rows[row, word]
    return total


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def _read(rows: Int64[np.ndarray, "rows words"]) -> np.int64:
    blocks = (len(rows) + _ROWS - 1) // _ROWS
    totals = np.zeros(blocks, np.int64)
    for block in prange(blocks):
        totals[block] = _sum(rows[block * _ROWS : (block + 1) * _ROWS])
    return totals.sum()


def read_ms(codes: list[np.ndarray]) -> float:
    """Milliseconds, the median of many times, to read all vectors once with all threads."""
    words = [file.view(np.int64) for file in codes]
    times = []
    for _ in range(_REPEATS + 1):
        started = time.perf_counter()
        for each in words:
            _read(each)
        times.append((time.perf_counter() - started) * 1000)
    return median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    limit_threads(given.threads)
    case = Case(given.case)
    size = sum(file.nbytes for file in case.codes)
    ms = read_ms(case.codes)
    print(json.dumps({"bytes": size, "ms": round(ms, 3), "gb_per_s": round(size / ms / 1e6, 2)}))


if __name__ == "__main__":
    main()
