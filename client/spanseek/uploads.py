"""The bodies of uploads: documents as lines of JSON in pieces, and files as they are."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from spanseek.errors import SpanseekError
from spanseek.values import json_of

# The size of a piece of an upload. What fits into one is sent as one request, without a task.
PIECE: Final = 2**18
_TYPES: Final = {".ndjson": "application/x-ndjson", ".jsonl": "application/x-ndjson", ".csv": "text/csv"}


class FileType(NamedTuple):
    """The headers that announce a file: its content type and its content encoding."""

    content_type: str
    content_encoding: str | None


def lines_of(documents: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Lines of JSON, in pieces of about ``PIECE`` bytes.

    >>> list(lines_of([{"id": "a"}, {"id": "b"}]))
    [b'{"id":"a"}\\n{"id":"b"}\\n']
    """
    lines: list[bytes] = []
    size = 0
    for document in documents:
        lines.append(json_of(document, nan="null") + b"\n")
        size += len(lines[-1])
        if size >= PIECE:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def file_type(path: Path) -> FileType:
    """The type of a file by its name. Raises ``SpanseekError`` for one that the API does not take.

    >>> file_type(Path("calls.csv.gz"))
    FileType(content_type='text/csv', content_encoding='gzip')
    """
    is_packed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if is_packed else path.name).suffix.lower()
    if suffix not in _TYPES:
        raise SpanseekError(f"{path.name} is not .csv, .ndjson or .jsonl: send it with `add_file`.")
    return FileType(_TYPES[suffix], "gzip" if is_packed else None)


def pieces_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file."""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
