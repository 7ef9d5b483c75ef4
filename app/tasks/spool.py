"""The files of tasks: the body of an upload as it arrived, and one result for each of its lines.

A body is checked while it arrives: a gzipped one is decompressed, so that one that is damaged or truncated is refused
before anything is promised. Memory holds one piece.
"""

import json
import shutil
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from indexer.disk import full_disk_named
from models.atomic import fsync, fsync_open, make_folder
from models.errors import InvalidInput
from models.failpoints import failpoint
from models.types import JsonValue

# The ending of a body's file, by which it is read: of a file that was sent by its name that of the name, without `.gz`.
Ending: TypeAlias = str
_CHUNK: Final = 2**16
# As much is unpacked at once: for so long other threads have the interpreter to themselves.
_UNPACKED: Final = 2**20
_RESULTS: Final = "results.ndjson"


@dataclass(frozen=True, slots=True)
class Spool:
    """The folder of a task."""

    folder: Path

    def body(self, format: Ending, *, packed: bool) -> Path:
        """The file of an upload's body."""
        return self.folder / f"body.{format}{'.gz' if packed else ''}"

    @property
    def results(self) -> Path:
        """The file of results."""
        return self.folder / _RESULTS

    def remove(self) -> None:
        """Remove the folder."""
        with failpoint("remove", self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)

    def remove_body(self) -> None:
        """Remove all but the results."""
        for path in self.folder.glob("body.*"):
            with failpoint("remove", path):
                path.unlink(missing_ok=True)

    def read_results(self, size: int) -> Iterator[bytes]:
        """The first ``size`` bytes of the results."""
        if size:
            with self.results.open("rb") as file:
                while size > 0 and (piece := file.read(min(_CHUNK, size))):
                    size -= len(piece)
                    yield piece


class BodyWriter:
    """Writes a body to a file, and counts the bytes of its text. Not for several threads at once."""

    def __init__(self, path: Path, *, packed: bool) -> None:
        self.bytes = 0
        self.text_bytes = 0
        self._unpacker = _Unpacker() if packed else None
        make_folder(path.parent)
        self._file: BinaryIO = path.open("wb")

    def write(self, piece: bytes) -> None:
        """Write a piece. Raises ``InvalidInput`` for gzip that is damaged, and ``StorageFull``."""
        with full_disk_named(), failpoint("write", Path(self._file.name)):
            self._file.write(piece)
        self.bytes += len(piece)
        self.text_bytes += len(piece) if self._unpacker is None else self._unpacker.count(piece)

    def finish(self) -> None:
        """Bring all to the disk. Raises ``InvalidInput`` for gzip that is truncated, and ``StorageFull``."""
        if self._unpacker is not None:
            self._unpacker.check_end()
        with full_disk_named():
            self._file.flush()
            fsync_open(self._file.fileno(), Path(self._file.name))
            self._file.close()
            fsync(Path(self._file.name).parent)

    def close(self) -> None:
        """Close the file; nothing is promised of it."""
        self._file.close()


class _Unpacker:
    """Counts the bytes of gzipped data, of one member or several."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    def count(self, piece: bytes) -> int:
        size = 0
        try:
            while piece:
                if self._member.eof:
                    piece = piece.lstrip(b"\0")  # padding
                    if not piece:
                        break
                    self._member = zlib.decompressobj(wbits=31)
                size += len(self._member.decompress(piece, _UNPACKED))
                piece = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error as error:
            raise _damaged(str(error)) from error
        return size

    def check_end(self) -> None:
        if not self._member.eof:
            raise _damaged("it is truncated")


def _damaged(reason: str) -> InvalidInput:
    return InvalidInput(f"The body is not valid gzip: {reason}.", hint="Compress it again, and send all.", field="body")


class ResultWriter:
    """Appends results, from a checkpoint on: what was written after it by an interrupted task is dropped."""

    def __init__(self, spool: Spool, checkpoint: int) -> None:
        make_folder(spool.folder)
        self._file = spool.results.open("ab")
        try:
            self._file.truncate(checkpoint)
            fsync(spool.folder)
        except OSError:
            self._file.close()
            raise
        self.bytes = checkpoint

    def append(self, results: Iterator[Mapping[str, JsonValue]]) -> None:
        """Append results, and bring them to the disk."""
        with full_disk_named():
            with failpoint("write", Path(self._file.name)):
                for result in results:
                    self.bytes += self._file.write(json.dumps(result, ensure_ascii=False).encode() + b"\n")
                self._file.flush()
            fsync_open(self._file.fileno(), Path(self._file.name))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
