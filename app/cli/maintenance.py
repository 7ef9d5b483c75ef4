"""``spanseek stats``, ``optimize``, ``verify``, ``backup`` and ``init-db``."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, checked_store, counted, err, open_services, out, print_json
from app.settings import Settings

if TYPE_CHECKING:
    from indexer.indexing.maintenance import Removed
    from indexer.indexing.stats import CollectionStats, SegmentStats


def verify(
    collection: Annotated[str | None, typer.Option("--collection", "-c", help="Only this one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every file of every segment against its checksum, and the catalog against the segments."""
    from indexer.indexing.verification import verify_store

    with checked_store() as store:
        verified = verify_store(store, collection)
    if as_json:
        print_json(json_values(verified))
    else:
        for sentence in verified.damages:
            err.print(sentence, style="red", markup=False, soft_wrap=True)
        segments, damage = counted(verified.segments, "segment"), counted(len(verified.damages), "error")
        out.print(f"{segments} checked, {damage} found.")
    if verified.damages:
        raise typer.Exit(1)


def backup(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A new or empty folder, which can then be a data folder; it ends in `.part` until it is complete."
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Copy the catalog and all segments, while others search and write."""
    from indexer.archives.backup import back_up

    with checked_store() as store:
        copy = back_up(store, folder)
    if as_json:
        print_json(
            {
                "folder": str(copy.folder),
                "collections": copy.collections,
                "segments": copy.segments,
                "bytes": copy.bytes,
            }
        )
    else:
        segments, collections = counted(copy.segments, "segment"), counted(copy.collections, "collection")
        out.print(f"{segments} of {collections} copied to {copy.folder}.", soft_wrap=True)
        out.print(f"Check it with: SPANSEEK_DATA_DIR={copy.folder} spanseek verify", soft_wrap=True)


def init_db() -> None:
    """Create the data folder and the catalog's tables, or bring them up to date."""
    from indexer.catalog import schema

    settings = Settings()
    if settings.database_url and not settings.data_dir.exists():
        settings.data_dir.mkdir(parents=True)
    schema.upgrade(settings.catalog_url)
    out.print("The catalog is up to date.")


def optimize(
    collection: CollectionOption,
    words: Annotated[
        bool,
        typer.Option("--words", help="Add words to a collection that was made without them; nothing is encoded again."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Merge segments now: into as few as possible, without deleted or replaced documents."""
    from app.collections.jobs import CollectionJobs, Waiting

    with open_services() as services:
        optimized = services.get(CollectionJobs).optimize(
            collection, words=words, waiting=Waiting(sleep=wait_for_readers)
        )
    if as_json:
        print_json(asdict(optimized))
    else:
        left = f"{counted(optimized.segments_left, 'segment')} now, {_mb(optimized.bytes_left)}"
        out.print(f"{removed_text(optimized)} {collection} has {left}.")


def stats(collection: CollectionOption, as_json: JsonOption = False) -> None:
    """Show the size of a collection, its deleted share, and its segments."""
    from indexer.indexing.stats import collection_stats

    with checked_store() as store:
        figures = collection_stats(store, collection)
    if as_json:
        print_json(asdict(figures))
    else:
        _show(figures)


def wait_for_readers(seconds: float) -> None:
    """Wait until running searches no longer need the old segments."""
    err.print(f"Waiting {seconds:g} s for searches that may still be reading the old segments.")
    time.sleep(seconds)


def removed_text(removed: "Removed") -> str:
    """A sentence about removed segments."""
    return f"{counted(removed.segments, 'old segment')} removed, {_mb(removed.bytes)}."


def erased_text(remains: Sequence[str]) -> str:
    """A sentence that all deleted text is erased, where that is proved; else what remains, a line each."""
    if not remains:
        return "All deleted text is erased from the disk."
    return "Deleted text is erased from the collection's files, and remains elsewhere:" + "".join(
        f"\n- {each}" for each in remains
    )


def _mb(size: int) -> str:
    return f"{size / 10**6:,.1f} MB"


def _show(figures: "CollectionStats") -> None:
    for field in fields(figures):
        value = getattr(figures, field.name)
        if field.name != "per_segment":
            out.print(f"{field.name:18s} {value:,}" if isinstance(value, int | float) else f"{field.name:18s} {value}")
    out.print(_table(figures.per_segment))


def _table(segments: Iterable["SegmentStats"]) -> Table:
    from indexer.indexing.stats import SegmentStats

    names = [field.name for field in fields(SegmentStats)]
    table = Table(*names)
    for segment in segments:
        values = (getattr(segment, name) for name in names)
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in values))
    return table
