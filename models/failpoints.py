"""Named moments at which a process may end or the machine may fail; in service nothing happens there.

Everything that makes data last passes one: writes of what is promised, fsyncs, renames, removals and commits. A test
process arms them with a function that gets the moment, such as ``before fsync``, and the path. It may end the process,
raise an ``OSError``, or note what is on the disk by now.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

Reached: TypeAlias = Callable[[str, Path], None]


def _nothing(moment: str, path: Path) -> None:
    pass


_reached: Reached = _nothing


def arm(reached: Reached = _nothing) -> None:
    """Call a function at every moment from now on; without one nothing is called any more."""
    global _reached
    _reached = reached


@contextmanager
def failpoint(step: str, path: Path) -> Iterator[None]:
    """Mark a step that makes data last, such as an fsync of ``path``. A step that fails has no moment after it.

    >>> arm(lambda moment, path: print(moment, path))
    >>> with failpoint("rename", Path("a")):
    ...     print("renames")
    before rename a
    renames
    after rename a
    >>> arm()
    """
    _reached(f"before {step}", path)
    yield
    _reached(f"after {step}", path)
