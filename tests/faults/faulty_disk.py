"""A disk that fails once: the write, fsync, rename or commit of a number raises an error of the machine."""

import builtins
import errno
import io
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy.exc import OperationalError

from models import failpoints

_SQLITE: Final = {errno.ENOSPC: sqlite3.SQLITE_FULL, errno.EIO: sqlite3.SQLITE_IOERR_WRITE}


class FaultyDisk:
    """Counts what is written below a folder, and fails at the write of a number, from 1; 0: at none."""

    def __init__(self, folder: Path, fail_at: int = 0, error: int = errno.ENOSPC) -> None:
        self._folder, self._fail_at, self.error = folder, fail_at, error
        self.count = 0
        self.failed = ""

    @contextmanager
    def installed(self) -> Iterator["FaultyDisk"]:
        """Every write of this process goes to this disk while the block runs."""
        failpoints.arm(self._reached)
        try:
            with pytest.MonkeyPatch.context() as patch:
                for module in (builtins, io):
                    patch.setattr(module, "open", self._opening(io.open))
                yield self
        finally:
            failpoints.arm()

    def write(self, what: str) -> None:
        """Something is written: raises if it is the one that fails."""
        self.count += 1
        if self.count == self._fail_at:
            self.failed = what
            raise self._raised(what)

    def _raised(self, what: str) -> Exception:
        if what.startswith("commit"):
            cause = sqlite3.OperationalError(os.strerror(self.error))
            cause.sqlite_errorcode = _SQLITE[self.error]
            return OperationalError("COMMIT", {}, cause)
        return OSError(self.error, os.strerror(self.error), what.partition(" ")[2])

    def _reached(self, moment: str, path: Path) -> None:
        when, _, step = moment.partition(" ")
        if when == "before" and step != "remove":
            self.write(f"{step} {path.name}")

    def _opening(self, real: Any) -> Any:
        def opened(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            file = real(path, mode, *arguments, **options)
            is_below = not isinstance(path, int) and self._folder in Path(os.fsdecode(path)).parents
            return _Written(file, self) if is_below and set(mode) & set("wxa+") else file

        return opened


class _Written:
    """A file whose writes are counted."""

    def __init__(self, file: Any, disk: FaultyDisk) -> None:
        self._file, self._disk = file, disk

    def write(self, data: Any) -> int:
        self._disk.write(f"write {Path(str(self._file.name)).name}")
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_Written":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
