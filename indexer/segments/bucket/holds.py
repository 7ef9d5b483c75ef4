"""Folders of a cache that are in use, by whichever process of the machine.

A name is a byte of one file, which every process that uses it locks for reading; who wants to remove it locks the byte
for itself. Such locks end with their process. The system counts them by process, not by thread, and forgets all of a
file when the process closes it once: each process opens the file once, and counts its threads.
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
        """Hold a name until it is released as often; waits for one who is removing it."""
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
        """True if nobody holds a name; then nobody takes it while the block runs."""
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
        """Run the block while no other thread or process runs one for this name; hardly any two names share a turn."""
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
    """The byte of a name; two names that share one are only kept longer."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
