"""A source: the records of a file or of a folder, and how far their reading has come."""

import csv
import gzip
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np
import pyarrow as pa

from indexer.disk import shortage
from indexer.errors import SourceUnreadable
from indexer.sources.annotations import MetadataTable, with_sidecar
from indexer.sources.folders import list_files
from indexer.sources.formats import DOCUMENTS, HINT, kind_of, reader_of
from indexer.sources.options import ReadOptions
from indexer.sources.records import BadRecord, Reading, Record, guarded, is_packed
from models.types import Document

_CHUNK: Final = 2**18
# Errors of readers for truncated files and for files of another format.
_UNREADABLE: Final = (
    SourceUnreadable, OSError, EOFError, zlib.error, csv.Error, pa.ArrowException, UnicodeError, LookupError,
)  # fmt: skip


class Source:
    """A file, or all readable files below a folder in the order of their names; iterate over it for its records.

    A gzipped file is decompressed to its end before its first record is yielded, so that no record comes from a file
    that is truncated or whose checksum is wrong. That costs one more pass over the file, and no memory.

    ``total_bytes`` and ``read_bytes`` tell how far the reading has come. ``unreadable`` names the files that could not
    be read to their end, ``passed_over`` files of other formats, ``lost`` what was left out of files that were read.
    Links to folders, and out of this folder, are bad records. Raises ``SourceUnreadable`` where there is nothing that
    Spanseek can read. ``name`` stands for a single file's own name in what is reported. A shortage of the machine is no
    fault of a file, and is raised. For a file that ``is_sound``, such as an upload's body, so is every error of the
    operating system.
    """

    def __init__(
        self, path: Path, options: ReadOptions | None = None, *, name: str | None = None, is_sound: bool = False
    ) -> None:
        self._path = path
        self._shown = name or path.name
        self._is_sound = is_sound
        self._options = options or ReadOptions()
        self._listing = list_files(path, self._options.metadata)
        self._metadata = None if self._options.metadata is None else MetadataTable(self._options.metadata)
        self.total_bytes = sum(file.stat().st_size for file in self._listing.files)
        self._finished_bytes = 0
        self._position: Callable[[], int] = lambda: 0
        self._verified: set[Path] = set()
        self._unreadable: dict[str, None] = {}
        self._notices: dict[str, str] = {}
        self._lost: dict[str, tuple[str, ...]] = {}
        # Eight bytes a document: hashes of the ids.
        self._ids = array("q")

    def __iter__(self) -> Iterator[Record]:
        self._finished_bytes, self._ids = 0, array("q")
        for path in self._listing.links:
            yield BadRecord(self._name(path), "a link to a folder, or out of the source folder: it was not followed")
        for path in self._listing.files:
            for record in self._records(path):
                if isinstance(record, Document):
                    self._ids.append(hash(record.id))
                yield record
            self._finished_bytes += path.stat().st_size

    @property
    def replaced(self) -> int:
        """The number of documents that a later one of the same id replaces."""
        return len(self._ids) - len(np.unique(np.array(self._ids)))

    @property
    def documents(self) -> int:
        """The number of documents read so far, those that are replaced included."""
        return len(self._ids)

    @property
    def read_bytes(self) -> int:
        """Bytes read so far, of the files on disk."""
        return self._finished_bytes + self._position()

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The files that could not be read to their end, in the order of reading."""
        return tuple(self._unreadable)

    @property
    def passed_over(self) -> tuple[str, ...]:
        """The files of formats that Spanseek does not read."""
        return tuple(self._name(path) for path in self._listing.others)

    @property
    def notices(self) -> dict[str, str]:
        """The notices about files, by their names: encoding, delimiter, columns and their types."""
        return dict(self._notices)

    @property
    def lost(self) -> dict[str, tuple[str, ...]]:
        """The text that files show and no record holds, counted, by the files' names: ``("1 embedded object",)``."""
        return dict(self._lost)

    @property
    def unmatched_metadata(self) -> tuple[str, ...]:
        """The ids of the table of metadata that no document had so far."""
        return () if self._metadata is None else self._metadata.unmatched

    def _name(self, path: Path) -> str:
        return self._shown if path == self._path else path.relative_to(self._path).as_posix()

    def _records(self, path: Path) -> Iterator[Record]:
        """The records of one file, up to a read error, which does not stop the other files of a folder."""
        name = self._name(path)
        read_file = reader_of(path)
        number = 0
        if read_file is None:
            raise AssertionError(f"{name} was listed without a reader")
        try:
            self._verify(path)
            with self._open(path) as reading:
                for number, read in read_file(reading):
                    record = guarded(f"{name}:{number}", lambda read=read: self._annotated(read(), path))  # type: ignore[misc]
                    self._note(reading)
                    yield record
                self._note(reading)
        except _UNREADABLE as error:
            # Arrow runs out of memory where a file claims to hold more than any memory.
            if not isinstance(error, pa.ArrowException) and (named := shortage(error)):
                raise named from error
            if self._is_sound and isinstance(error, OSError) and error.errno is not None:
                raise
            self._unreadable[name] = None
            problem = " ".join(str(error).split())
            if path == self._path and not number:
                hint = getattr(error, "hint", "") or HINT
                raise SourceUnreadable(f"{name} cannot be read: {problem}", hint=hint, field="source") from error
            reason = "from here on the file cannot be read" if number else "nothing of the file can be read"
            yield BadRecord(f"{name}:{number + 1}", f"{reason}: {problem}")

    def _note(self, reading: Reading) -> None:
        """Keep what a reader concluded so far, and what it left out."""
        if reading.notice:
            self._notices[reading.name] = reading.notice
        if reading.lost:
            self._lost[reading.name] = tuple(reading.lost)

    def _annotated(self, document: Document, path: Path) -> Document:
        if kind_of(path) in DOCUMENTS:
            document = with_sidecar(document, path)
        return document if self._metadata is None else self._metadata.annotate(document)

    def _verify(self, path: Path) -> None:
        """Decompress a gzipped file to its end, once, which checks its length and its checksum."""
        if is_packed(path.name) and path not in self._verified:
            with gzip.open(path) as file:
                while file.read(_CHUNK):
                    pass
            self._verified.add(path)

    @contextmanager
    def _open(self, path: Path) -> Iterator[Reading]:
        with path.open("rb") as raw:
            file = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_packed(path.name) else raw
            reading = Reading(file, self._name(path), path, self._options, lambda: _opened(path))
            size = path.stat().st_size
            self._position = lambda: raw.tell() if reading.fraction is None else int(size * reading.fraction)
            try:
                yield reading
            finally:
                self._position = lambda: 0


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if is_packed(path.name) else path.open("rb")
