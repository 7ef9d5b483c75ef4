"""Texts of a segment: one long text, compressed in frames of a fixed number of code points.

Fixed frames make a code point's frame a division away, so that reading a hit unpacks one frame, whatever the length
of its document. The frame table also counts UTF-8 bytes and UTF-16 units, so that offsets translate as cheaply.
"""

from functools import lru_cache, partial
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import zstandard
from jaxtyping import UInt8, UInt64

from indexer.disk import full_disk_named
from indexer.errors import SegmentCorrupt, TextNotStored
from indexer.segments.layout import MOST_BYTES, TEXT_BLOCK
from models.mapping import mapped_bytes

OffsetUnit = Literal["codepoint", "utf16", "byte"]
_COLUMN: dict[OffsetUnit, int] = {"byte": 1, "utf16": 2}


class TextWriter:
    """Appends text and writes full frames as they fill; memory holds one frame and the text given.

    With ``store`` false it counts code points, and writes nothing.
    """

    def __init__(self, file: BinaryIO, *, store: bool = True) -> None:
        self._file = file
        self._store = store
        self._compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)
        self._pending: list[str] = []
        self._pending_length = 0
        self._table = [(0, 0, 0)]
        self.code_points = 0

    def append(self, text: str) -> int:
        """Append a text and return the code point it starts at."""
        start = self.code_points
        self.code_points += len(text)
        if not self._store:
            return start
        self._pending.append(text)
        self._pending_length += len(text)
        if self._pending_length >= TEXT_BLOCK:
            self._write_frames()
        return start

    def _write_frames(self) -> None:
        text = "".join(self._pending)
        full = len(text) - len(text) % TEXT_BLOCK
        for begin in range(0, full, TEXT_BLOCK):
            self._write_frame(text[begin : begin + TEXT_BLOCK])
        self._pending, self._pending_length = [text[full:]], len(text) - full

    def _write_frame(self, text: str) -> None:
        data = text.encode()
        packed, utf8, utf16 = self._table[-1]
        packed += self._file.write(self._compressor.compress(data))
        self._table.append((packed, utf8 + len(data), utf16 + utf16_length(text)))

    def finish(self) -> UInt64[np.ndarray, "frames_and_one 3"]:
        """Write what is left and return the frame table."""
        rest = "".join(self._pending)
        if rest:
            self._write_frame(rest)
        return np.array(self._table, np.uint64)


class TextReader:
    """Reads slices of the long text, unpacking only the frames they touch."""

    def __init__(self, path: Path, table: UInt64[np.ndarray, "frames_and_one 3"]) -> None:
        with full_disk_named():
            packed = mapped_bytes(path)
        self._table = table
        # Not a method: the reader would refer to itself, and its texts would stay until the collector comes by.
        self._frame = lru_cache(maxsize=64)(partial(_unpack, packed, table))

    def read(self, start: int, end: int) -> str:
        """The code points ``[start, end)``."""
        if end <= start:
            return ""
        frames = range(start // TEXT_BLOCK, -(-end // TEXT_BLOCK))
        text = "".join(self._frame(frame) for frame in frames)
        offset = frames.start * TEXT_BLOCK
        return text[start - offset : end - offset]

    def position(self, code_point: int, unit: OffsetUnit) -> int:
        """The number of code points, UTF-16 units or UTF-8 bytes before a code point."""
        if unit == "codepoint":
            return code_point
        frame = min(code_point // TEXT_BLOCK, len(self._table) - 1)
        before = self.read(frame * TEXT_BLOCK, code_point)
        inside = utf16_length(before) if unit == "utf16" else len(before.encode())
        return int(self._table[frame, _COLUMN[unit]]) + inside


class NoText:
    """Stands in for :class:`TextReader` if texts are not stored: only offsets in code points are known."""

    def read(self, start: int, end: int) -> str:
        """Raises ``TextNotStored``."""
        raise TextNotStored(
            "The collection does not store its texts, which this request reads.",
            hint="Search it in a mode whose hits are restored, such as best_span, or ask `POST /restore`.",
        )

    def position(self, code_point: int, unit: OffsetUnit) -> int:
        """The code point itself. Raises ``TextNotStored`` for another unit."""
        if unit != "codepoint":
            raise TextNotStored(
                f"The collection does not store its texts: offsets in {unit} units cannot be counted.",
                hint="Leave offset_unit out, or give codepoint.",
                field="offset_unit",
            )
        return code_point


class PlainText:
    """Stands in for :class:`TextReader` with a text in memory.

    >>> PlainText("é😀!").read(1, 2), PlainText("é😀!").position(2, "utf16")
    ('😀', 3)
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, start: int, end: int) -> str:
        """The code points ``[start, end)``."""
        return self._text[start:end]

    def position(self, code_point: int, unit: OffsetUnit) -> int:
        """The number of code points, UTF-16 units or UTF-8 bytes before a code point."""
        return offset_in(self._text, code_point, unit)


def _unpack(packed: UInt8[np.ndarray, " bytes"], table: UInt64[np.ndarray, "frames_and_one 3"], frame: int) -> str:
    begin, end = int(table[frame, 0]), int(table[frame + 1, 0])
    data = packed[begin:end].tobytes()
    try:
        if not 0 <= zstandard.frame_content_size(data) <= MOST_BYTES:  # before so much memory is taken
            raise zstandard.ZstdError("it has another length")
        # A decompressor of one's own a call: they must not be shared between threads.
        return zstandard.ZstdDecompressor().decompress(data).decode()
    except (zstandard.ZstdError, UnicodeDecodeError) as error:
        raise SegmentCorrupt(
            f"A text cannot be read: {error}", hint="Run `spanseek verify` to see all damage."
        ) from error


def offset_in(text: str, code_point: int, unit: OffsetUnit) -> int:
    """A code point offset into a text, counted in another unit.

    >>> offset_in("é😀!", 2, "codepoint"), offset_in("é😀!", 2, "utf16"), offset_in("é😀!", 2, "byte")
    (2, 3, 6)
    """
    if unit == "codepoint":
        return code_point
    before = text[:code_point]
    return utf16_length(before) if unit == "utf16" else len(before.encode())


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript and Java count.

    >>> utf16_length("a😀")
    3
    """
    return len(text.encode("utf-16-le")) // 2
