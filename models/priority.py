"""Priorities of threads."""

import os
import sys
from typing import Final

_NICENESS: Final = 10


def lower_priority() -> None:
    """Lower the priority of the current thread."""
    if sys.platform == "linux":  # elsewhere this would apply to the whole process
        os.nice(_NICENESS)


def niceness() -> int:
    """The lowered priority of the current thread. Threads that it starts inherit it."""
    return os.getpriority(os.PRIO_PROCESS, 0) if sys.platform == "linux" else 0
