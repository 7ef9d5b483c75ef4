"""Pages of a PDF from the process that takes it apart: it is ended where it takes too long or too much memory."""

import json
import select
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple

from indexer.errors import InvalidDocument

_PROGRAM: Final = Path(__file__).with_name("glyphs.py")
_SIGN: Final = struct.Struct("<I6f")
# Seconds for a page, and for all pages together: the first figure and one more for every page that came.
_PATIENCE: Final = 8.0
_CHUNK: Final = 2**20


class Sign(NamedTuple):
    """A sign of a page: its code point, its box in points from the bottom left, its size and its angle."""

    code: int
    left: float
    bottom: float
    right: float
    top: float
    size: float
    angle: float


class Field(NamedTuple):
    """The value of a form's field, and its box."""

    text: str
    left: float
    bottom: float
    right: float
    top: float


@dataclass(slots=True)
class RawPage:
    """The contents of a page. ``problem`` says why it could not be read."""

    number: int
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    signs: list[Sign] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    is_scan: bool = False
    problem: str = ""


class Extraction:
    """The pages of a PDF one after the other. ``title`` and ``pages``, their number, are known at once.

    Raises ``InvalidDocument`` for what is no PDF, is encrypted, or ends the process, at once or while pages are read.
    """

    def __init__(self, data: bytes) -> None:
        if find_spec("pypdfium2") is None:
            raise ImportError("pypdfium2")
        self._process = subprocess.Popen(  # noqa: S603 - the program is a file of this package
            [sys.executable, "-I", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._deadline = time.monotonic() + _PATIENCE
        self._buffer = bytearray()
        Thread(target=self._feed, args=(data,), daemon=True).start()
        facts = self._line()
        if "error" in facts:
            self.close()
            if facts["error"] == "password":
                raise InvalidDocument("the file is encrypted: save it without a password")
            raise InvalidDocument(f"not a PDF that can be read: {facts['error']}")
        self.pages = int(facts["pages"])
        self.title = str(facts["title"]).strip()

    def __iter__(self) -> Iterator[RawPage]:
        for number in range(1, self.pages + 1):
            facts = self._line(is_last=number > 1)
            if not facts:
                yield RawPage(number, problem=f"nor can the {self.pages - number:,} pages after it")
                return
            data = self._take(facts["signs"] * _SIGN.size)
            signs = [Sign(*sign) for sign in _SIGN.iter_unpack(data)]
            self._deadline += 1
            yield _page(number, facts, signs)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _feed(self, data: bytes) -> None:
        stdin = self._process.stdin
        if stdin is not None:
            with suppress(OSError):  # the process has ended, which whoever reads from it meets
                stdin.write(data)
            with suppress(OSError):
                stdin.close()

    def _line(self, *, is_last: bool = False) -> dict[str, Any]:
        """The next line of JSON; with ``is_last`` nothing where the process ended by itself."""
        while (end := self._buffer.find(b"\n")) < 0:
            if not self._more():
                if is_last and self._process.wait() == 0:
                    return {}
                raise InvalidDocument("not a PDF that can be read: it takes too much memory, or breaks its reader")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return dict(json.loads(line))

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not self._more():
                raise InvalidDocument("not a PDF that can be read: it takes too much memory, or breaks its reader")
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _more(self) -> bool:
        """Read on. Whether there was more; raises ``InvalidDocument`` where nothing comes for too long."""
        stdout = self._process.stdout
        if stdout is None:
            return False
        now = time.monotonic()
        ready, _, _ = select.select([stdout], [], [], max(0.0, min(_PATIENCE, self._deadline - now)))
        if not ready:
            self.close()
            raise InvalidDocument(f"not a PDF that can be read: a page takes more than {_PATIENCE:.0f} seconds")
        chunk = stdout.read1(_CHUNK)  # type: ignore[attr-defined]
        self._buffer += chunk
        return bool(chunk)


def _page(number: int, facts: dict[str, Any], signs: list[Sign]) -> RawPage:
    if "error" in facts:
        return RawPage(number, problem=facts["error"])
    fields = [Field(*each) for each in facts["fields"]]
    return RawPage(number, tuple(facts["box"]), signs, fields, facts["comments"], facts["is_scan"])
