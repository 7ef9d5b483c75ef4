"""Who holds a lease: a process, named so that others on the same host can tell whether it still lives."""

import os
import socket

import psutil

# The system's clock counts the moment of start in whole seconds in places.
_SAME_START_SECONDS = 2.0


def this_process() -> str:
    """``host:pid:start-time`` of the running process; the time is in seconds since the host started.

    >>> is_dead(this_process())
    False
    """
    return f"{socket.gethostname()}:{os.getpid()}:{_started(psutil.Process()):.2f}"


def is_dead(holder: str) -> bool:
    """Whether the holder was a process of THIS host that is gone. Anything else may be alive for all we know.

    >>> is_dead("a machine far away:1:0.00"), is_dead("the night job")
    (False, False)
    """
    host, pid, start = _taken_apart(holder)
    return host == socket.gethostname() and not _runs(pid, start)


def _taken_apart(holder: str) -> tuple[str | None, int, float]:
    try:
        host, pid, start = holder.rsplit(":", 2)
        return host, int(pid), float(start)
    except ValueError:
        return None, 0, 0.0


def _runs(pid: int, start: float) -> bool:
    # The start time tells the holder from a later process that was given the same pid.
    try:
        process = psutil.Process(pid)
        alive: bool = process.status() != psutil.STATUS_ZOMBIE
        return alive and abs(_started(process) - start) < _SAME_START_SECONDS
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return False


def _started(process: psutil.Process) -> float:
    # Counted from the start of the host, which stays the same when somebody sets the clock.
    return float(process.create_time()) - float(psutil.boot_time())
