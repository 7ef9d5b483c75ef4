"""Ctrl-C as a request: what is going on ends in good order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from app.cli.console import err


@contextmanager
def stop_on_interrupt(message: str) -> Iterator[Event]:
    """The first Ctrl-C sets the event and prints the message; a second one ends the command on the spot."""
    stop = Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        err.print(message)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
