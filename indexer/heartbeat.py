"""Call a function at intervals on a thread beside a block of work, to tell others that the work goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def beating(beat: Callable[[], bool], *, every: float) -> Iterator[None]:
    """Call ``beat`` on a thread every ``seconds``, until it returns False or the block ends.

    >>> beats = Event()
    >>> with beating(lambda: bool(beats.set()), every=0.001):
    ...     beats.wait()
    True
    """
    over = Event()
    thread = Thread(target=_run, args=(beat, every, over), name="spanseek-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        # Wait for a beat under way: it may use a connection that the caller is about to close.
        thread.join()


def _run(beat: Callable[[], bool], every: float, over: Event) -> None:
    while not over.wait(every) and beat():
        pass
