"""The memory that a piece of work takes, measured in a process where nothing else runs."""

import gc
import resource
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

Call = tuple[Any, ...]


def peaks_of(work: Callable[..., object], *calls: Call) -> list[int]:
    """For the arguments of each call, the most bytes that the work has allocated at once, arrays included.

    The work is a function of a module. It runs once more before, for what is made only once.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_traced_peaks, work, calls).result()


def growth_of(work: Callable[..., object], *arguments: object) -> int:
    """The bytes by which the peak of a process grows by the work, libraries included that allocate for themselves."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_growth, work, arguments).result()


def _traced_peaks(work: Callable[..., object], calls: tuple[Call, ...]) -> list[int]:
    work(*calls[0])
    return [_traced_peak(work, call) for call in calls]


def _traced_peak(work: Callable[..., object], call: Call) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        work(*call)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _growth(work: Callable[..., object], arguments: Call) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(*arguments)
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
