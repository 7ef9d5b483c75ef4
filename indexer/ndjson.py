"""NDJSON: one JSON value per line in UTF-8. An invalid line is reported in its place; other lines are still read."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

_CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line that is not JSON, and the reason."""

    reason: str


def read_ndjson(lines: Iterable[bytes | InvalidLine]) -> Iterator[tuple[int, object]]:
    """The number of every line, from 1, and its value, or an ``InvalidLine``. Blank lines are skipped.

    >>> list(read_ndjson([b'{"id": 1}', b"", b"{id: 2}"]))  # doctest: +ELLIPSIS
    [(1, {'id': 1}), (3, InvalidLine(reason='not valid JSON: Expecting property name ... at column 2'))]
    """
    for number, line in enumerate(lines, 1):
        if isinstance(line, InvalidLine):
            yield number, line
        elif line.strip():
            yield number, parse_json(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)


def bounded_lines(file: BinaryIO, limit: int) -> Iterator[bytes | InvalidLine]:
    """The lines of a file; one of more than ``limit`` bytes is skipped in bounded memory, and is invalid.

    >>> import io
    >>> list(bounded_lines(io.BytesIO(b"1\\n" + b"2" * 9 + b"\\n3"), 8))
    [b'1\\n', InvalidLine(reason='the line has more than 8 bytes'), b'3']
    """
    while line := file.readline(limit + 1):
        if len(line) <= limit:
            yield line
        else:
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK)
            yield InvalidLine(f"the line has more than {limit:,} bytes")


def parse_json(data: bytes) -> object:
    """The value of a JSON text, or an ``InvalidLine``.

    >>> parse_json(b"caf\\xe9")
    InvalidLine(reason='not valid UTF-8 at byte 3')
    """
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        return InvalidLine(f"not valid UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        return InvalidLine(f"not valid JSON: {error.msg} at column {error.colno}")
    except RecursionError:
        return InvalidLine("nested too deeply")
    except ValueError as error:  # a number with too many digits
        return InvalidLine(f"not valid JSON: {error}")
