"""``spanseek collections``, ``verify``, ``backup`` and ``init-db``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.cli.console import JsonOption, checked_store, err, out, print_json
from app.settings import Settings


def collections(as_json: JsonOption = False) -> None:
    """List the collections."""
    with checked_store(Settings()) as store:
        found = store.catalog.collections()
    if as_json:
        print_json([asdict(collection) for collection in found])
        return
    table = Table("collection", "documents", "units", "segments", "MB", "generation", "encoder")
    for item in found:
        counts = (item.documents, item.units, item.segments, item.bytes // 10**6, item.generation)
        table.add_row(item.name, *(f"{count:,}" for count in counts), item.recipe.encoder)
    out.print(table if found else "There is no collection yet. Make one with: spanseek index")


def verify(
    collection: Annotated[str | None, typer.Option("--collection", "-c", help="Only this one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every file of every segment against its checksum, and the catalog against the segments."""
    from indexer.verification import verify_collection

    with checked_store(Settings()) as store:
        named = [store.catalog.collection(collection)] if collection else store.catalog.collections()
        segments = sum(item.segments for item in named)
        damage = [sentence for item in named for sentence in verify_collection(store, item)]
    if as_json:
        print_json({"collections": len(named), "segments": segments, "damages": damage})
    else:
        for sentence in damage:
            err.print(sentence, style="red", markup=False, soft_wrap=True)
        out.print(f"{segments} segments checked, {len(damage)} damages found.")
    if damage:
        raise typer.Exit(1)


def backup(
    folder: Annotated[Path, typer.Argument(help="A new folder; it can then serve as a data folder.")],
    as_json: JsonOption = False,
) -> None:
    """Copy the catalog and all segments, while others search and write."""
    from indexer.backup import back_up

    with checked_store(Settings()) as store:
        made = back_up(store, folder)
    if as_json:
        print_json(
            {
                "folder": str(made.folder),
                "collections": made.collections,
                "segments": made.segments,
                "bytes": made.bytes,
            }
        )
    else:
        out.print(
            f"{made.segments:,} segments of {made.collections:,} collections are in {made.folder}.", soft_wrap=True
        )
        out.print(f"Check it with: SPANSEEK_DATA_DIR={made.folder} spanseek verify", soft_wrap=True)


def init_db() -> None:
    """Create the catalog's tables, or bring them up to date."""
    from indexer.catalog import schema

    settings = Settings()
    schema.upgrade(settings.catalog_url)
    out.print("The catalog is up to date.")
