"""What there is, and whether it is sound: ``spanseek collections``, ``verify`` and ``init-db``."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from app.cli.console import JsonOption, checked_store, err, out, print_json
from app.settings import Settings
from indexer.segments.manifest import damages


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
    """Check every bit of every segment against its checksums."""
    with checked_store(Settings()) as store:
        found = [store.catalog.collection(collection)] if collection else list(store.catalog.collections())
        segments = [
            (store.folder(item) / live.info.name, live.info.manifest_sha256)
            for item in found
            for live in store.catalog.live(item.name).segments
        ]
    damage = [sentence for folder, sha256 in segments for sentence in damages(folder, sha256)]
    if as_json:
        print_json({"collections": len(found), "segments": len(segments), "damages": damage})
    else:
        for sentence in damage:
            err.print(sentence, style="red", markup=False, soft_wrap=True)
        out.print(f"{len(segments)} segments checked, {len(damage)} damages found.")
    if damage:
        raise typer.Exit(1)


def init_db() -> None:
    """Create the catalog's tables, or bring them up to date."""
    from indexer.catalog import schema

    settings = Settings()
    schema.upgrade(settings.catalog_url)
    out.print("The catalog is up to date.")
