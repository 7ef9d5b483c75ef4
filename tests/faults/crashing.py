"""Processes that run an operation on a store while a watcher is told of every failpoint, and may end them by SIGKILL.

They are forked by a server that has imported everything: a process of its own costs some milliseconds.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, Protocol

from models import failpoints
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.places import Place

_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.faults.crashing"])
_LONGEST_S: Final = 240


class Watcher(Protocol):
    """Is told of failpoints in the process that reaches them."""

    def begin(self, place: Place) -> None:
        """Called before the operation."""

    def reached(self, number: int, moment: str, path: Path, done: int) -> None:
        """Called at every failpoint, the first of number 1, with the number of steps that are done."""


@dataclass(frozen=True)
class KillAt:
    """Ends the process at the failpoint of this number; 0: at none."""

    number: int = 0

    def begin(self, place: Place) -> None:
        pass

    def reached(self, number: int, moment: str, path: Path, done: int) -> None:
        if number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Reached:
    """The failpoints that a process has reached, in their order, and the number of steps that it had done."""

    moments: tuple[str, ...]
    done: int


class Victim:
    """A process that runs an operation on a store: one of this folder by its name, or another."""

    def __init__(self, place: Place, operation: str | Operation, notes: Path, watcher: Watcher = KillAt()) -> None:
        self._notes = notes
        notes.write_bytes(b"")
        self.process: BaseProcess = _FORKS.Process(target=_run, args=(place, operation, str(notes), watcher))
        self.process.start()

    def end(self, after_s: float | None = None) -> Reached:
        """Wait for its end; or kill it after so many seconds if it has not ended before."""
        self.process.join(_LONGEST_S if after_s is None else after_s)
        if after_s is None:
            assert self.process.exitcode in (0, -signal.SIGKILL), f"it ended with {self.process.exitcode}"
        self.process.kill()
        self.process.join()
        lines = self._notes.read_text().splitlines()
        done = max((int(line) for line in lines if line.isdigit()), default=0)
        return Reached(tuple(line for line in lines if not line.isdigit()), done)


def _run(place: Place, operation: str | Operation, notes: str, watcher: Watcher) -> None:
    file = os.open(notes, os.O_WRONLY | os.O_APPEND)
    watcher.begin(place)
    counter = _Counter(lambda line: os.write(file, line.encode()), watcher)
    with place.services() as services:
        failpoints.arm(counter)
        chosen = OPERATIONS[operation] if isinstance(operation, str) else operation
        chosen.run(services, counter.step_done)
        failpoints.arm()


class _Counter:
    """Notes every failpoint, and every step that is done."""

    def __init__(self, note: Callable[[str], object], watcher: Watcher) -> None:
        self._note, self._watcher, self._number, self._done = note, watcher, 0, 0
        self._lock = threading.Lock()

    def __call__(self, moment: str, path: Path) -> None:
        with self._lock:
            self._number += 1
            self._note(f"{moment} {_kind(path)}\n")
            self._watcher.reached(self._number, moment, path, self._done)

    def step_done(self, number: int) -> None:
        self._done = number
        self._note(f"{number}\n")


def _kind(path: Path) -> str:
    """The name of a file; what is named at random by the folder that it lies in."""
    is_random = sum(map(str.isdigit, path.name)) > 6
    return f"of {path.parent.name[:12]}" if is_random else path.name
