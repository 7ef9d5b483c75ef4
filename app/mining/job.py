"""A mining from its checkpoint on: lines are appended batch by batch, and become tables at the end."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Final

from pydantic_core import to_json as json_of

from app.answers import described, to_json
from app.mining.counts import PhraseCounts
from app.mining.mining import MinedHits, Mining
from app.mining.tables import TABLES, TableName, table_of, write_table
from app.search.answers import UsedThreshold
from app.tabular import Format
from indexer.disk import full_disk_named
from models.atomic import fsync, fsync_open, make_folder
from models.interruption import checked

# Unfinished tables: a task's folder forgets files of this name when the task ends.
_LINES: Final = "body.{table}.ndjson"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The final part of a mining: the phrases whose hits are written, and every table's bytes, of one generation."""

    generation: int = -1
    phrases: int = 0
    hits: int = 0
    incomplete: int = 0
    bytes: Mapping[str, int] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """The checkpoint as JSON values."""
        return asdict(self)


_BEGINNING: Final = Checkpoint()


@dataclass(frozen=True, slots=True)
class Mined:
    """The outcome of a mining."""

    phrases: int
    hits: int
    incomplete: Annotated[int, described("Phrases with more hits than `limit`.")]
    copies: Annotated[int, described("Phrases that are near-copies of one before them.")]
    generation: int
    threshold: UsedThreshold
    format: Format


Progress = Callable[[int, int, Checkpoint], object]


def run_mining(
    mining: Mining, folder: Path, start: Checkpoint = _BEGINNING, *, progress: Progress = lambda *_: None
) -> Mined:
    """Write the tables of a mining to a folder, from a checkpoint on; after another generation from the beginning.

    ``progress`` gets the number of phrases that are done, that of all, and a new checkpoint.
    """
    make_folder(folder)
    if start.generation != mining.generation or not _has_lines(folder, start):
        start = Checkpoint(mining.generation)
    total, done = len(mining.names), start
    with _Lines(folder, start.bytes) as lines:
        for batch in checked(mining.batches(start.phrases)):
            incomplete = sum(not _write(lines, mining, each) for each in batch)
            hits = lines.rows
            done = Checkpoint(
                mining.generation,
                done.phrases + len(batch),
                start.hits + hits,
                done.incomplete + incomplete,
                lines.sync(),
            )
            progress(done.phrases, total, done)
        copies = list(mining.copies())
        for copy in copies:
            lines.write("copies", to_json(copy))
        lines.sync()
    form = mining.request.format
    for table in TABLES:
        write_table(lines_of(folder, table), table_of(folder, table, form), table, form)
    for table in TABLES:
        lines_of(folder, table).unlink(missing_ok=True)
    return Mined(total, done.hits, done.incomplete, len(copies), mining.generation, mining.threshold, form)


def _has_lines(folder: Path, start: Checkpoint) -> bool:
    sizes = {lines_of(folder, table): start.bytes.get(table, 0) for table in TABLES}
    return all(path.exists() and path.stat().st_size >= size for path, size in sizes.items())


def lines_of(folder: Path, table: TableName) -> Path:
    """The file of a table that is not finished."""
    return folder / _LINES.format(table=table)


def _write(lines: "_Lines", mining: Mining, mined: MinedHits) -> bool:
    """Write the hits and the counts of a phrase; returns whether these are all."""
    counts, name = PhraseCounts(mined.phrase, mining.counted), json_of(mined.phrase)
    for hit in mined.hits:
        lines.write("hits", b'{"phrase":' + name + b"," + to_json(hit)[1:])
        counts.add(hit)
    for count in counts.rows(complete=mined.complete):
        lines.write("counts", to_json(count))
    return mined.complete


class _Lines:
    """The lines of all tables, each appended from a number of bytes on: what was written after that is dropped."""

    def __init__(self, folder: Path, sizes: Mapping[str, int]) -> None:
        self.rows = 0
        self._resources = ExitStack()
        self._files: dict[TableName, BinaryIO] = {}
        for table in TABLES:
            file = self._resources.enter_context(lines_of(folder, table).open("ab"))
            file.truncate(sizes.get(table, 0))
            self._files[table] = file
        fsync(folder)

    def __enter__(self) -> "_Lines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def write(self, table: TableName, line: bytes) -> None:
        """Append a line."""
        with full_disk_named():
            self._files[table].write(line + b"\n")
        self.rows += table == "hits"

    def sync(self) -> dict[str, int]:
        """Bring all lines to the disk; returns the bytes of every table."""
        with full_disk_named():
            for file in self._files.values():
                file.flush()
                fsync_open(file.fileno(), Path(file.name))
        return {table: file.seek(0, os.SEEK_END) for table, file in self._files.items()}
