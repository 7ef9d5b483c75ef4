"""Common parts of the kernels: the run, the absent span, compilation, and a lock that runs one at a time."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import ParamSpec, TypeVar

import numba
import numpy as np
from numba import njit, prange

from indexer.arrays import BLOCK

# How many starts yield one maximum. The spans of maxima must be able to lie apart (see ``scan.floor``).
RUN = 64
RUNS = BLOCK // RUN
# Units that one thread reads before others would have begun.
_FEW_UNITS = 32 * BLOCK
# Lower than any approximate score, however far off that may be.
NO_SPAN = np.finfo(np.float32).min

# Sums may be reordered so that they vectorise; no kernel ever sees a NaN or an infinity.
FAST = {"nnan", "ninf", "nsz", "reassoc", "contract"}

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_LOCK = threading.Lock()


def one_at_a_time(kernel: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let one thread at a time into parallel kernels: they use all cores, and numba's fallback layer dies of two.

    Kernels release the GIL, so other Python threads go on meanwhile. Kernels that only lanes of low priority call are
    short, because searches wait for them.
    """

    @functools.wraps(kernel)
    def locked(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with _LOCK:
            return kernel(*arguments, **named)

    return locked


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Run parallel kernels that this thread calls on this thread alone: for arrays so small that waiting for other
    threads takes longest.

    >>> with on_one_thread():
    ...     numba.get_num_threads()
    1
    """
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)


def threads_for(units: int) -> AbstractContextManager[None]:
    """Run parallel kernels that read so many units on all threads, or few units on this thread alone.

    On a busy machine waiting for another thread takes longer than a search of one document.

    >>> with threads_for(10):
    ...     numba.get_num_threads()
    1
    >>> with threads_for(10**6):
    ...     numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    True
    """
    return on_one_thread() if units <= _FEW_UNITS else nullcontext()


@njit(parallel=True, nogil=True, cache=True)
def _parallel(numbers):  # type: ignore[no-untyped-def]
    for at in prange(len(numbers)):
        numbers[at] = at


@one_at_a_time
def threading_layer() -> str:
    """The layer numba runs parallel kernels on (``omp``, ``tbb`` or ``workqueue``)."""
    _parallel(np.zeros(1, np.int64))
    return str(numba.threading_layer())
