"""Documents from files: NDJSON, CSV, Parquet and folders of text, each also gzipped.

A source yields documents and, in place of what could not be read, a ``BadRecord`` that names the line. Memory is that
of one record, or of one row group of a Parquet file.

A gzipped file is decompressed to its end before its first record is yielded, so that no record comes from a file that
is truncated or whose checksum is wrong. That costs one more pass over the file, and no memory.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TextIO, TypeAlias, cast

import pyarrow as pa
import pyarrow.parquet as pq

from indexer.documents import checked_id, checked_metadata, checked_size, checked_text, document_from_json
from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.ndjson import InvalidLine, bounded_lines, read_ndjson
from models.types import Document, Part


@dataclass(frozen=True, slots=True)
class BadRecord:
    """An invalid record: its place (``file:line``) and the reason."""

    where: str
    reason: str


Record = Document | BadRecord
# The line of a record, from 1, and the function that parses it.
_Found: TypeAlias = tuple[int, Callable[[], Document]]
_CHUNK = 2**18
# The longest line, CSV field and text file, in bytes; CSV counts characters.
MAX_RECORD = 64 * 2**20
# Errors of readers for truncated files and for files of another format.
_UNREADABLE = (SourceUnreadable, OSError, EOFError, zlib.error, csv.Error, pa.ArrowException)


class Source:
    """A file, or all readable files below a folder in the order of their names; iterate over it for its records.

    ``total_bytes`` and ``read_bytes`` tell how far the reading has come. ``unreadable`` names the files that could not
    be read to their end. Links to folders, and out of this folder, are bad records.
    Raises ``SourceUnreadable`` where there is nothing that Spanseek can read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files, self._links = _readable_files(path)
        self.total_bytes = sum(file.stat().st_size for file in self._files)
        self._finished_bytes = 0
        self._raw: BinaryIO | None = None
        self._verified: set[Path] = set()
        self._unreadable: dict[str, None] = {}

    def __iter__(self) -> Iterator[Record]:
        self._finished_bytes = 0
        for path in self._links:
            yield BadRecord(self._name(path), "a link to a folder, or out of the source folder: it was not followed")
        for path in self._files:
            yield from self._records(path)
            self._finished_bytes += path.stat().st_size

    @property
    def read_bytes(self) -> int:
        """Bytes read so far, of the files on disk."""
        return self._finished_bytes + (self._raw.tell() if self._raw else 0)

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The files that could not be read to their end, in the order of reading."""
        return tuple(self._unreadable)

    def _name(self, path: Path) -> str:
        return path.name if path == self._path else path.relative_to(self._path).as_posix()

    def _records(self, path: Path) -> Iterator[Record]:
        """The records of one file, up to a read error, which does not stop the other files of a folder."""
        name = self._name(path)
        number = 0
        try:
            self._verify(path)
            with self._open(path) as file:
                for number, read in _READERS[_kind(path)](file, name):
                    yield _guarded(f"{name}:{number}", read)
        except _UNREADABLE as error:
            self._unreadable[name] = None
            if path == self._path and not number:
                raise SourceUnreadable(f"{name} cannot be read: {error}", hint=_HINT, field="source") from error
            reason = "from here on the file cannot be read" if number else "nothing of the file can be read"
            yield BadRecord(f"{name}:{number + 1}", f"{reason}: {error}")

    def _verify(self, path: Path) -> None:
        """Decompress a gzipped file to its end, once, which checks its length and its checksum."""
        if _is_packed(path) and path not in self._verified:
            with gzip.open(path) as file:
                while file.read(_CHUNK):
                    pass
            self._verified.add(path)

    @contextmanager
    def _open(self, path: Path) -> Iterator[BinaryIO]:
        with path.open("rb") as raw:
            self._raw = raw
            try:
                yield cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if _is_packed(path) else raw
            finally:
                self._raw = None


def _ndjson(file: BinaryIO, name: str) -> Iterator[_Found]:
    """One JSON document per line; empty lines are skipped."""
    for number, value in read_ndjson(bounded_lines(file, MAX_RECORD)):
        yield number, partial(_document_from_value, value)


def _csv(file: BinaryIO, name: str) -> Iterator[_Found]:
    """Columns ``id`` and ``text``; every other column is metadata."""
    csv.field_size_limit(MAX_RECORD)
    with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text:
        rows = csv.reader(_bounded_lines(text), strict=True)
        header = next(rows, [])
        if not {"id", "text"} <= set(header) or len(set(header)) < len(header):
            raise SourceUnreadable("its first line must name the columns id and text, and none twice")
        while True:
            number = rows.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                if "field limit" in str(error):  # the next line is in the middle of the field: no row begins there
                    raise
                yield number, partial(_refuse, f"not valid CSV: {error}")
                continue
            if row:
                yield number, partial(_document_from_row, header, row)


def _bounded_lines(text: TextIO) -> Iterator[str]:
    while line := text.readline(MAX_RECORD + 1):
        if len(line) > MAX_RECORD:
            raise SourceUnreadable(f"a line has more than {MAX_RECORD:,} characters")
        yield line


def _parquet(file: BinaryIO, name: str) -> Iterator[_Found]:
    """Columns ``id`` and ``text`` or ``parts``; a ``metadata`` struct and further columns are metadata."""
    batches = pq.ParquetFile(file, page_checksum_verification=True).iter_batches(batch_size=256)
    rows = ((batch, row) for batch in batches for row in range(batch.num_rows))
    for number, (batch, row) in enumerate(rows, 1):
        yield number, partial(_document_from_columns, batch, row)


def _text(file: BinaryIO, name: str) -> Iterator[_Found]:
    """The whole file is one document; its id is the file's path below the folder, without ``.gz``."""
    yield 1, partial(_document_from_text, _unpacked(name), file.read(MAX_RECORD + 1))


_READERS: dict[str, Callable[[BinaryIO, str], Iterator[_Found]]] = {
    ".csv": _csv,
    ".jsonl": _ndjson,
    ".ndjson": _ndjson,
    ".parquet": _parquet,
    ".txt": _text,
}
_HINT = f"Spanseek reads files that end in {', '.join(_READERS)} (each also with .gz), and folders of them."


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _unpacked(name: str) -> str:
    return name[:-3] if name.lower().endswith(".gz") else name


def _kind(path: Path) -> str:
    return Path(_unpacked(path.name)).suffix.lower()


def _readable_files(path: Path) -> tuple[list[Path], list[Path]]:
    """The files to read, and the links that are not followed: those to folders, and those out of the folder."""
    if not path.exists():
        raise SourceUnreadable(f"There is no file or folder {path}.", hint="Check --source.", field="source")
    candidates = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = [file for file in candidates if file.is_file() and _kind(file) in _READERS]
    if not files:
        raise SourceUnreadable(f"{path} holds nothing that Spanseek reads.", hint=_HINT, field="source")
    if not path.is_dir():
        return files, []
    root = path.resolve()
    links = [one for one in candidates if one.is_symlink() and (one.is_dir() or not one.resolve().is_relative_to(root))]
    return [file for file in files if file not in set(links)], links


def _document_from_value(value: object) -> Document:
    if isinstance(value, InvalidLine):
        raise InvalidDocument(value.reason)
    return document_from_json(value)


def _document_from_text(id: str, data: bytes) -> Document:
    if len(data) > MAX_RECORD:
        raise InvalidDocument(f"the file has more than {MAX_RECORD:,} bytes")
    return Document(checked_id(id), (Part(data.decode()),))


def _document_from_row(header: Sequence[str], row: Sequence[str]) -> Document:
    if len(row) != len(header):
        raise InvalidDocument(f"the row has {len(row)} fields and the header {len(header)}")
    ",".join(row).encode("utf-8", "surrogateescape").decode()
    fields = dict(zip(header, row, strict=True))
    metadata = {key: value for key, value in fields.items() if key not in ("id", "text") and value != ""}
    parts = (Part(checked_text(fields["text"])),)
    return checked_size(Document(checked_id(fields["id"]), parts, checked_metadata(metadata)))


def _document_from_columns(batch: pa.RecordBatch, row: int) -> Document:
    values = {name: column[row].as_py() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    present = _present(values)
    own = {key: present.pop(key) for key in ("id", "text", "parts") if key in present}
    if isinstance(own.get("parts"), list):
        own["parts"] = [_present_part(part) for part in own["parts"]]
    metadata = present.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise InvalidDocument("metadata must be a JSON object, which Parquet calls a struct")
    return document_from_json(own | {"metadata": _present(metadata) | present})


def _present_part(part: object) -> object:
    if isinstance(part, dict) and isinstance(part.get("metadata"), dict):
        return part | {"metadata": _present(part["metadata"])}
    return part


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    """Drop null fields: all rows of Parquet have the same fields."""
    return {name: value for name, value in fields.items() if value is not None}


def _refuse(reason: str) -> NoReturn:
    raise InvalidDocument(reason)


def _guarded(where: str, read: Callable[[], Document]) -> Record:
    try:
        return read()
    except UnicodeDecodeError as error:
        return BadRecord(where, f"not valid UTF-8 at byte {error.start}")
    except (InvalidDocument, ValueError) as error:
        return BadRecord(where, str(error))
