"""Doing something again and again while a block runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def beating(beat: Callable[[], bool], *, every: float) -> Iterator[None]:
    """Calls ``beat`` on a thread every so many seconds, until it answers False or the block ends."""
    over = Event()
    thread = Thread(target=_run, args=(beat, every, over), name="spanseek-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        # A beat that is under way ends first: it may be using a connection that the caller is about to close.
        thread.join()


def _run(beat: Callable[[], bool], every: float, over: Event) -> None:
    while not over.wait(every) and beat():
        pass
