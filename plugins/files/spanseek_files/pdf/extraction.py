"""Pages of a PDF from the process that takes it apart: it is ended where it takes too long or too much memory."""

import json
import select
import signal
import struct
import subprocess
import sys
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
# Seconds without a sign of life, after which the process is ended; it bounds its work itself.
_PATIENCE: Final = 120.0
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
    """The contents of a page. ``problem`` says why it could not be read.

    Images cover much of a page that ``is_scan``, and nearly all of one that ``is_image``, without invisible text that
    says what they show.
    """

    number: int
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    signs: list[Sign] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    is_scan: bool = False
    is_image: bool = False
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
                raise self._ended()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return dict(json.loads(line))

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not self._more():
                raise self._ended()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _ended(self) -> InvalidDocument:
        """The reason for which the process ended by itself."""
        if self._process.wait() == -signal.SIGXCPU:
            return InvalidDocument("not a PDF that can be read: a page takes more than 8 seconds")
        return InvalidDocument("not a PDF that can be read: it takes too much memory, or breaks its reader")

    def _more(self) -> bool:
        """Read on. Whether there was more; raises ``InvalidDocument`` where nothing comes for too long."""
        stdout = self._process.stdout
        if stdout is None:
            return False
        ready, _, _ = select.select([stdout], [], [], _PATIENCE)
        if not ready:
            self.close()
            raise InvalidDocument("not a PDF that can be read: its reader has stopped")
        chunk = stdout.read1(_CHUNK)  # type: ignore[attr-defined]
        self._buffer += chunk
        return bool(chunk)


def _page(number: int, facts: dict[str, Any], signs: list[Sign]) -> RawPage:
    if "error" in facts:
        return RawPage(number, problem=facts["error"])
    fields = [Field(*each) for each in facts["fields"]]
    box, comments = tuple(facts["box"]), facts["comments"]
    return RawPage(number, box, signs, fields, comments, facts["is_scan"], facts["is_image"])
