"""The outline of a JSON text: its outer brackets, commas and colons, and what lies between them, unparsed.

A record that is not valid JSON costs itself alone, and a file of any size needs the memory of one record.
"""

import codecs
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from indexer.errors import SourceUnreadable
from indexer.sources.records import MAX_RECORD

# Levels of values in each other; parsers of records are recursive.
MAX_LEVELS: Final = 1000
_CHUNK: Final = 2**20
_QUOTE: Final = ord('"')
_STEPS: Final = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_IS_SIGN: Final = np.isin(np.arange(256), list(b'[]{},:"'))


class Piece(NamedTuple):
    """A text, the sign that ends it, none at the end of the file, and the number of brackets around both."""

    level: int
    text: bytes
    sign: bytes


def outline(file: BinaryIO, depth: int) -> Iterator[Piece]:
    """The pieces of an array or an object within at most ``depth`` brackets; what lies deeper is text.

    A text of more than ``MAX_RECORD`` bytes lacks its end. Raises ``SourceUnreadable`` for files that hold something
    else or more, that end too early, and that are nested too deeply.

    >>> import io
    >>> [text for _, text, _ in outline(io.BytesIO(b'[{"id": 1}, NaN]'), 1)]
    [b'', b'{"id": 1}', b' NaN', b'']
    """
    piece = Piece(0, b"", b"")
    for number, piece in enumerate(_pieces(file, depth)):
        is_blank = not piece.text.strip()
        if number == 0 and not (is_blank and piece.sign in (b"[", b"{")):
            raise SourceUnreadable("it holds neither an array nor an object of JSON")
        if number and piece.level <= 0 and (piece.sign or not is_blank):
            raise SourceUnreadable(
                "something follows the end of its first value", hint="Write one record a line, or an array of records."
            )
        yield piece
    if piece.level:
        raise SourceUnreadable("it ends within a value: it may be cut off")


def _pieces(file: BinaryIO, depth: int) -> Iterator[Piece]:
    signs, text = _Signs(depth), bytearray()
    for data in _chunks(file):
        begin = 0
        for at, level in signs.within(data):
            yield Piece(level, bytes(text + data[begin:at]), data[at : at + 1])
            text.clear()
            begin = at + 1
        if len(text) <= MAX_RECORD:
            text += data[begin:]
    yield Piece(signs.level, bytes(text), b"")


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file without its byte order mark; an escape is not divided."""
    held = file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    while data := file.read(_CHUNK):
        data = held + data
        held = b"\\" * ((len(data) - len(data.rstrip(b"\\"))) % 2)
        yield data.removesuffix(held)
    yield held


class _Signs:
    """Finds the brackets, commas and colons of the outer levels in one chunk after the other."""

    def __init__(self, depth: int) -> None:
        self.level = 0
        self._depth = depth
        self._is_in_string = False

    def within(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The places of the signs in a chunk, and the number of brackets around each."""
        unescaped = np.frombuffer(data.replace(rb"\\", b"__").replace(rb"\"", b"__"), np.uint8)
        places = np.flatnonzero(_IS_SIGN[unescaped])
        signs = unescaped[places]
        in_string = np.logical_xor.accumulate(signs == _QUOTE) ^ self._is_in_string
        steps = np.where(in_string, 0, _STEPS[signs])
        after = self.level + np.cumsum(steps, dtype=np.int64)
        if len(signs):
            self.level, self._is_in_string = int(after[-1]), bool(in_string[-1])
            if after.max() > MAX_LEVELS:
                raise SourceUnreadable("it is nested too deeply")
        before = after - steps
        is_outer = ~in_string & (signs != _QUOTE) & (np.maximum(before, after) <= self._depth)
        return zip(places[is_outer].tolist(), before[is_outer].tolist(), strict=True)
