"""Exports as bytes: NDJSON, CSV and Parquet, made while hits are read, for HTTP and for files."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from app.answers import to_json
from app.search.answers import ExportEnd
from app.search.types import Hit

Format = Literal["ndjson", "csv", "parquet"]
Items: TypeAlias = Iterator[Hit | ExportEnd]

# Columns of tables; those of mappings hold JSON.
_STRINGS: Final = ("document_id", "text", "match", "polarity")
_INTEGERS: Final = ("rank", "start", "end", "copies")
_NUMBERS: Final = ("score", "raw")
_MAPPINGS: Final = ("metadata", "part_metadata")
_COLUMNS: Final = ("rank", "score", "raw", "document_id", "start", "end", "text", "match", "polarity", "copies")
# Hits of a row group, which are in memory at once.
_GROUP: Final = 10_000


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format of exports: its media type, and how items are written."""

    media_type: str
    pieces: Callable[[Items], Iterator[bytes]]


def ndjson(items: Items) -> Iterator[bytes]:
    """Each hit as a line of JSON, and last the end."""
    for item in items:
        yield to_json(item) + b"\n"


def table(items: Items) -> Iterator[bytes]:
    """Hits as rows of CSV. A mark at the beginning tells spreadsheets that it is UTF-8."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow((*_COLUMNS, *_MAPPINGS))
    yield "\ufeff".encode() + _taken(lines)
    for item in items:
        if isinstance(item, Hit):
            row = _row(item)
            writer.writerow(["" if row[name] is None else row[name] for name in (*_COLUMNS, *_MAPPINGS)])
            yield _taken(lines)


def parquet(items: Items) -> Iterator[bytes]:
    """Hits as a Parquet file, in groups of rows. Its metadata has the end, under ``spanseek``."""
    import pyarrow as pa  # takes as long to import as a short search
    from pyarrow.parquet import ParquetWriter

    kinds = dict.fromkeys(_STRINGS + _MAPPINGS, pa.string())
    kinds |= dict.fromkeys(_INTEGERS, pa.int64()) | dict.fromkeys(_NUMBERS, pa.float64())
    schema = pa.schema([(name, kinds[name]) for name in (*_COLUMNS, *_MAPPINGS)])
    sink = _Sink()
    with ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := list(islice(items, _GROUP)):
            rows = [_row(item) for item in group if isinstance(item, Hit)]
            if rows:
                writer.write_table(pa.Table.from_pylist(rows, schema))
            for item in group:
                if isinstance(item, ExportEnd):
                    writer.add_key_value_metadata({"spanseek": to_json(item)})
            yield sink.taken()
    yield sink.taken()


FORMATS: Final[dict[Format, ExportFormat]] = {
    "ndjson": ExportFormat("application/x-ndjson", ndjson),
    "csv": ExportFormat("text/csv", table),
    "parquet": ExportFormat("application/vnd.apache.parquet", parquet),
}


def _row(hit: Hit) -> dict[str, Any]:
    mappings = {name: getattr(hit, name) for name in _MAPPINGS}
    spelt = {
        name: None if value is None else json.dumps(dict(value), ensure_ascii=False) for name, value in mappings.items()
    }
    return {name: getattr(hit, name) for name in _COLUMNS} | spelt


def _taken(lines: io.StringIO) -> bytes:
    """What was written since the last call."""
    written = lines.getvalue().encode()
    lines.seek(0)
    lines.truncate()
    return written


class _Sink(io.RawIOBase):
    """A file of which the written bytes are taken away, piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._length

    def write(self, data: Any) -> int:  # noqa: ANN401  # any buffer
        piece = bytes(data)
        self._pieces.append(piece)
        self._length += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        """What was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
