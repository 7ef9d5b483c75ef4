"""Locks on the folders of a cache, by which every process of the machine says that it uses one.

A name stands for one byte of a file. A process that uses the folder takes a shared lock on the byte, and one that wants
to remove the folder an exclusive lock. These locks end with their process. The system counts them by process, not by
thread, and drops all locks on a file when the process closes it once: so each process opens the file only once, and
counts its own threads.
"""

import fcntl
import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final

_RETRY_S: Final = 0.005
# Files of turns at most: with few of them, segments that have nothing to do with each other would wait.
_STRIPES: Final = 4096


class Holds:
    """The holds of this process on the names of one folder. Safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / "held", os.O_RDWR | os.O_CREAT, 0o644)
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold a name while the block runs."""
        self.take(name)
        try:
            yield
        finally:
            self.release(name)

    def take(self, name: str) -> None:
        """Hold a name until it has been released as often; wait while another process removes its folder."""
        with self._lock:
            # Asked again and again, for the system sees deadlocks of processes where threads wait for each other.
            while not self._counts[name] and not self._locked(name, fcntl.LOCK_SH):
                time.sleep(_RETRY_S)
            self._counts[name] += 1

    def release(self, name: str) -> None:
        """Give up one hold on a name."""
        with self._lock:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(name))

    @contextmanager
    def alone(self, name: str) -> Iterator[bool]:
        """Yield True if nobody holds a name, and keep others from taking it while the block runs."""
        with self._lock:
            if self._counts[name] or not self._locked(name, fcntl.LOCK_EX):
                yield False
                return
            try:
                yield True
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(name))

    @contextmanager
    def in_turn(self, name: str) -> Iterator[None]:
        """Run the block while no other thread or process runs one for this name. Two names rarely share a lock."""
        self._folder.mkdir(parents=True, exist_ok=True)  # whoever empties a cache may remove it with all that is in it
        turn = os.open(self._folder / f"turn-{_byte(name) % _STRIPES:04}", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield
        finally:
            os.close(turn)

    def _locked(self, name: str, kind: int) -> bool:
        try:
            fcntl.lockf(self._file, kind | fcntl.LOCK_NB, 1, _byte(name))
        except OSError:
            return False
        return True


@cache
def holds_of(folder: Path) -> Holds:
    """The holds on the names of a folder, the same ones for all of this process."""
    return Holds(folder)


def _byte(name: str) -> int:
    """The byte of a name. If two names share a byte, their folders are only kept longer."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
