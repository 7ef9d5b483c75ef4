"""What becomes of documents and segments: ``spanseek delete``, ``optimize`` and ``stats``."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.cli.console import CollectionOption, JsonOption, checked_store, err, out, print_json
from app.settings import Settings
from models.errors import InvalidInput

if TYPE_CHECKING:
    from indexer.maintenance import Removed
    from indexer.stats import CollectionStats, SegmentStats


def delete(
    collection: CollectionOption,
    id: Annotated[list[str] | None, typer.Option(help="Id of a document; repeat for several.")] = None,
    ids: Annotated[Path | None, typer.Option(help="File with an id a line.")] = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also take everything deleted or replaced off the disk, now.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete documents. Searches find them no more at once; merges take them off the disk, or --purge does."""
    from indexer.catalog.leases import lease
    from indexer.catalog.publish import remove
    from indexer.maintenance import purge as purge_segments
    from indexer.maintenance import sweep

    wanted = [*(id or []), *_lines(ids)]
    if not wanted and not purge:
        raise InvalidInput("No document is named.", hint="Give --id or --ids; --purge alone clears up.", field="id")
    with checked_store(Settings()) as store, lease(store.catalog, collection) as held:
        sweep(store, held)
        deleted = remove(store.catalog, held, wanted)
        removed = purge_segments(store, held, _wait) if purge else None
        generation = store.catalog.generation(collection)
    missing = sorted(set(wanted) - deleted)
    if as_json:
        purged = None if removed is None else asdict(removed)
        print_json({"deleted": len(deleted), "not_found": missing, "generation": generation, "purged": purged})
        return
    out.print(f"{len(deleted):,} documents deleted from {collection}, {len(missing):,} were not there.")
    if removed is not None:
        out.print(f"Nothing deleted is left on the disk. {_told(removed)}", soft_wrap=True)


def optimize(collection: CollectionOption, as_json: JsonOption = False) -> None:
    """Merge segments now: as few as can be, without anything that was deleted or replaced."""
    from indexer.catalog.leases import lease
    from indexer.maintenance import optimize as optimize_segments

    with checked_store(Settings()) as store, lease(store.catalog, collection) as held:
        removed = optimize_segments(store, held, _wait)
        after = store.catalog.collection(collection)
    if as_json:
        print_json(asdict(removed) | {"segments_left": after.segments, "bytes_left": after.bytes})
    else:
        out.print(f"{_told(removed)} {collection} has {after.segments:,} segments now, {_mb(after.bytes)}.")


def stats(collection: CollectionOption, as_json: JsonOption = False) -> None:
    """Show what a collection holds, what of it is dead, and its segments."""
    from indexer.stats import collection_stats

    with checked_store(Settings()) as store:
        found = collection_stats(store, collection)
    if as_json:
        print_json(asdict(found))
    else:
        _show(found)


def _lines(path: Path | None) -> Iterator[str]:
    if path is None:
        return
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from filter(None, (line.rstrip("\r\n") for line in file))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", hint="Give a text file, UTF-8.", field="ids") from error


def _wait(seconds: float) -> None:
    err.print(f"Waiting {seconds:g} s for searches that may still be reading the old segments.")
    time.sleep(seconds)


def _told(removed: "Removed") -> str:
    return f"{removed.segments:,} old segments were removed, {_mb(removed.bytes)}."


def _mb(size: int) -> str:
    return f"{size / 10**6:,.1f} MB"


def _show(found: "CollectionStats") -> None:
    for field in fields(found):
        value = getattr(found, field.name)
        if field.name != "per_segment":
            out.print(f"{field.name:18s} {value:,}" if isinstance(value, int | float) else f"{field.name:18s} {value}")
    out.print(_table(found.per_segment))


def _table(segments: Iterable["SegmentStats"]) -> Table:
    from indexer.stats import SegmentStats

    names = [field.name for field in fields(SegmentStats)]
    table = Table(*names)
    for segment in segments:
        values = (getattr(segment, name) for name in names)
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in values))
    return table
