"""All hits of a search, or all documents of a collection, in a file."""

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import typer

from app.answers import json_values
from app.search.answers import ExportEnd
from app.search.types import Hit
from models.atomic import replacing

Write = Callable[[Hit], object]
_COLUMNS = ("rank", "score", "raw", "document_id", "start", "end", "text", "match", "polarity")
_METADATA = ("metadata", "part_metadata")


def check_new_file(path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file that exists, or whose name has none of the endings."""
    if path.exists():
        raise typer.BadParameter(f"{path} exists; name a new file.", param_hint="--out")
    if not path.name.endswith(endings):
        raise typer.BadParameter(f"{path} ends in none of {', '.join(endings)}.", param_hint="--out")


def write_hits(path: Path, items: Iterable[Hit | ExportEnd]) -> ExportEnd:
    """Write hits to a ``.csv`` or ``.ndjson`` file, and return what the export says at its end."""
    end: ExportEnd | None = None
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        write = _csv(file) if path.suffix == ".csv" else _ndjson(file)
        for item in items:
            if isinstance(item, ExportEnd):
                end = item
            else:
                write(item)
    if end is None:
        raise AssertionError("the export has no end")
    return end


@contextmanager
def line_file(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """A new file of lines, gzipped if its name ends in ``.gz``; an error removes it."""
    with replacing(path) as partial, partial.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.open(file, "wb") as packed:
                yield packed
        else:
            yield file


def _ndjson(file: IO[str]) -> Write:
    return lambda hit: file.write(json.dumps(json_values(hit), ensure_ascii=False) + "\n")


def _csv(file: IO[str]) -> Write:
    file.write("\ufeff")  # by which spreadsheets know UTF-8
    table = csv.writer(file)
    table.writerow((*_COLUMNS, *_METADATA))
    return lambda hit: table.writerow(_row(hit))


def _row(hit: Hit) -> list[object]:
    metadata = (getattr(hit, name) for name in _METADATA)
    spelt = ("" if value is None else json.dumps(dict(value), ensure_ascii=False) for value in metadata)
    return [*(getattr(hit, name) for name in _COLUMNS), *spelt]
