"""Work that others may end: a caller that has gone, a task that was cancelled, a server that stops.

Whoever begins long work says once, by :func:`interruptible`, what ends it. Loops whose steps take less than a second
call :func:`checkpoint` before each, wherever they are; without a caller that ends it, that costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Final, TypeVar

Item = TypeVar("Item")


class Interrupted(Exception):
    """The caller of the work has gone: nobody takes its result."""


class _Left(Exception):
    """The block is left. Callers here catch it."""


def _go_on() -> None:
    pass


_check: Final[ContextVar[Callable[[], object]]] = ContextVar("interruption", default=_go_on)


@contextmanager
def interruptible(check: Callable[[], object]) -> Iterator[None]:
    """Let :func:`checkpoint` call ``check``, which raises to end the block, while this thread is in it.

    >>> def stop():
    ...     raise TimeoutError("too late")
    >>> with interruptible(stop):
    ...     checkpoint()
    Traceback (most recent call last):
    TimeoutError: too late
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Leave only this block at the checkpoint that would end the work around it, and continue after the block.

    This is for work that may be left to others, such as merging: what comes before and after it is completed.

    >>> with interruptible(lambda: 1 / 0):
    ...     with until_interrupted():
    ...         checkpoint()
    ...         print("not reached")
    ...     print("completed")
    completed
    """
    around = _check.get()

    def leave() -> None:
        try:
            around()
        except Exception as error:
            raise _Left from error

    try:
        with interruptible(leave):
            yield
    except _Left:
        return


def checkpoint() -> None:
    """Go on, or raise what ends the work."""
    _check.get()()


def checked(steps: Iterable[Item], every: int = 1) -> Iterator[Item]:
    """The same steps, with a checkpoint before every so many, which are drawn together.

    >>> list(checked([1, 2, 3], every=2))
    [1, 2, 3]
    """
    left = iter(steps)
    checkpoint()
    while some := list(islice(left, every)):
        yield from some
        checkpoint()
