"""Hostile files of every format: documents or a refusal, within ten seconds and 500 MB, and no other error."""

import multiprocessing
import os
import resource
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from indexer.errors import SourceUnreadable
from indexer.sources import BadRecord, Source
from plugins.files.tests.hostile_files import hostile
from plugins.files.tests.valid_files import KINDS, valid
from tests.faults.places import ROUNDS

pytest.importorskip("lxml")

FILES: Final = 200 * ROUNDS or 6
# Of the processor's time, its processes' included, since others use it, too; the other is when a hang is one.
_MOST_S: Final = 10
_HANGS_S: Final = 120
_MOST_MB: Final = 500


class Read(NamedTuple):
    """What became of a file: ``document``, ``refused``, ``unreadable`` or an error; and what it took."""

    outcome: str
    seconds: float
    megabytes: float


def read(folder: Path, kind: str, data: bytes) -> Read:
    """Read a file to its end."""
    path = folder / f"x.{kind}"
    path.write_bytes(data)
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory counts from here
    before = _spent()
    try:
        records = list(Source(path))
        outcome = "refused" if all(isinstance(each, BadRecord) for each in records) else "document"
    except SourceUnreadable:
        outcome = "unreadable"
    except BaseException as error:  # noqa: BLE001  any other is what the test looks for
        outcome = f"{type(error).__name__}: {error}"[:300]
    return Read(outcome, _spent() - before, _peak_kib() / 1024)


def _spent() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _peak_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def serve(folder: Path, kind: str, pipe: Connection) -> None:
    """Read the files whose numbers arrive; the first says how much memory an idle reader has."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries warn
    read(folder, kind, valid(kind)[0])
    while True:
        pipe.send(read(folder, kind, hostile(kind, pipe.recv())))


class Readers:
    """A process that reads files of a format, and another one after each that ended or hangs."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind, self._process = folder, kind, None

    def __enter__(self) -> "Readers":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, number: int) -> Read:
        """What became of a file."""
        if self._process is None:
            self._start()
        self._pipe.send(number)
        if not self._pipe.poll(_HANGS_S):
            self._end()
            return Read("hangs", _HANGS_S, 0)
        try:
            read: Read = self._pipe.recv()
            return read
        except EOFError:
            self._process.join()
            code, self._process = self._process.exitcode, None
            return Read(f"the process ended with {code}", 0, 0)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process: Any = context.Process(target=serve, args=(self._folder, self._kind, other), daemon=False)
        self._process.start()
        other.close()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_hostile_is_valid_at_first(kind: str, tmp_path: Path) -> None:
    for data in valid(kind):
        assert read(tmp_path, kind, data).outcome == "document"


@pytest.mark.slow("thousands of damaged files")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_files_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    outcomes, failed = Counter[str](), []
    with Readers(tmp_path, kind) as readers:
        for number in range(FILES):
            found = readers.read(number)
            outcomes[found.outcome] += 1
            is_known = found.outcome in ("document", "refused", "unreadable")
            if not is_known or found.seconds > _MOST_S or found.megabytes > _MOST_MB:
                failed.append((number, found))
    assert failed == [], dict(outcomes)
    if ROUNDS:  # of a few files all may be readable, or none
        assert outcomes["document"]
        assert outcomes["refused"] + outcomes["unreadable"] or kind in ("html", "md", "txt")
