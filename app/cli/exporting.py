"""All hits of a search, or all documents of a collection, in a file."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import typer

from app.search.answers import ExportEnd, Hit
from app.tabular import Format
from models.atomic import make_folder, replacing

# The endings of files, and their formats.
FILES: Final[dict[str, Format]] = {".ndjson": "ndjson", ".csv": "csv", ".xlsx": "xlsx", ".parquet": "parquet"}


def check_new_file(path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file that exists, or whose name has none of the endings."""
    if path.exists():
        raise typer.BadParameter(f"{path} exists; name a new file.", param_hint="--out")
    if not path.name.endswith(endings):
        raise typer.BadParameter(f"{path} ends in none of {', '.join(endings)}.", param_hint="--out")


def write_hits(path: Path, items: Iterable[Hit | ExportEnd]) -> ExportEnd:
    """Write hits to a file of the format that its ending names, and return what the export says at its end."""
    from app.search.export import FORMATS  # the kernels of a search, which help does without

    ends: list[ExportEnd] = []
    format = FORMATS[FILES[path.suffix]]
    with new_file(path) as file:
        file.writelines(format.pieces(_noting(items, ends)))
    (end,) = ends
    return end


def _noting(items: Iterable[Hit | ExportEnd], ends: list[ExportEnd]) -> Iterator[Hit | ExportEnd]:
    """The hits of the items; the end is noted, since files hold hits alone."""
    for item in items:
        if isinstance(item, ExportEnd):
            ends.append(item)
        else:
            yield item


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """A new file, gzipped if its name ends in ``.gz``, in a folder that is made; an error removes the file."""
    make_folder(path.parent)
    with replacing(path) as partial, partial.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.open(file, "wb") as packed:
                yield packed
        else:
            yield file
