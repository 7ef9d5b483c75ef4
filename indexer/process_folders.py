"""Folders of running processes, and the removal of those whose process is gone.

Several hosts and containers may share a data folder, so that a pid says nothing. A folder is named by its host, by the
start of that host's kernel, and at random. It holds a file that its process keeps locked, and touches at intervals. On
one kernel, which containers share, the lock decides: it ends with the process. Locks do not reach other machines on
every file system: what one of those holds must have been silent for long, too.
"""

import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Final

from indexer.heartbeat import beating
from indexer.machine import boot

ALIVE: Final = "alive"
_BEAT_S: Final = 30.0
# Without a beat for so long, a folder of another machine is taken for one of a process that is gone.
_SILENT_S: Final = 600.0
# As long is kept what has no such file: folders of before version 0.3, and those of a process killed as it began.
_UNLOCKED_S: Final = 86_400.0
_NAME: Final = re.compile(r"(?:(?P<host>.+)-(?P<boot>[0-9a-f]{8})|[0-9]+)-[0-9a-f]{8}")


class _LocksMissing(Exception):
    """The file system has no locks: beats decide. Callers here catch it."""


@contextmanager
def process_folder(parent: Path) -> Iterator[Path]:
    """A new folder below ``parent``, removed at the end. Folders of processes that are gone are removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    sweep(parent)
    with ExitStack() as held:
        mine = _locked(parent, held)
        try:
            with beating(lambda: _touched(mine / ALIVE), every=_BEAT_S):
                yield mine
        finally:
            shutil.rmtree(mine, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders of processes that are gone; what is no folder of a process stays."""
    for folder in _folders(parent):
        with ExitStack() as held:
            if _is_abandoned(folder, held):
                shutil.rmtree(folder, ignore_errors=True)


def in_use(parent: Path) -> list[Path]:
    """The folders of processes that may run."""
    return [folder for folder in _folders(parent) if is_in_use(folder)]


def is_in_use(folder: Path) -> bool:
    """True for the folder of a process that may run."""
    with ExitStack() as held:
        return folder.is_dir() and not _is_abandoned(folder, held)


def _folders(parent: Path) -> list[Path]:
    return sorted(folder for folder in parent.glob("*/") if _NAME.fullmatch(folder.name))


def _locked(parent: Path, held: ExitStack) -> Path:
    """A new folder, whose lock is held until ``held`` ends."""
    while True:
        mine = parent / f"{_host()}-{boot()}-{secrets.token_hex(4)}"
        mine.mkdir()
        try:
            # Another process may sweep before the lock is taken: then it has the lock, or has removed the file.
            if _is_free(mine / ALIVE, held, os.O_CREAT) and (mine / ALIVE).exists():
                return mine
        except _LocksMissing:
            return mine


def _is_abandoned(folder: Path, held: ExitStack) -> bool:
    """True if its process is gone; the folder is then locked until ``held`` ends."""
    try:
        free = _is_free(folder / ALIVE, held)
    except FileNotFoundError:
        return _age(folder) > _UNLOCKED_S
    except _LocksMissing:
        return _age(folder / ALIVE) > _SILENT_S
    except OSError:  # of another user
        return False
    return free and (_is_of_this_kernel(folder.name) or _age(folder / ALIVE) > _SILENT_S)


def _is_free(file: Path, held: ExitStack, flags: int = 0) -> bool:
    """Lock a file unless another process does. Raises ``_LocksMissing`` on a file system without locks."""
    descriptor = os.open(file, os.O_RDWR | flags, 0o644)
    held.callback(os.close, descriptor)
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _LocksMissing from error
    return True


def _is_of_this_kernel(name: str) -> bool:
    parts = _NAME.fullmatch(name)
    return parts is not None and parts["boot"] == boot()


def _touched(file: Path) -> bool:
    with suppress(OSError):
        os.utime(file)
    return True


def _age(path: Path) -> float:
    """Seconds since the last change; 0 of what is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:40] or "host"
