"""``spanseek delete``: delete documents."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import CollectionOption, JsonOption, checked_store, counted, out, print_json
from app.cli.maintenance import removed_text, wait_for_readers
from app.settings import Settings
from models.errors import InvalidInput


def delete(
    collection: CollectionOption,
    id: Annotated[list[str] | None, typer.Option(help="Id of a document; repeat for several.")] = None,
    ids: Annotated[Path | None, typer.Option(help="File with one id per line.")] = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also erase deleted and replaced documents from the disk, now.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete documents: searches no longer find them. --purge also erases them from the disk."""
    from indexer.catalog.leases import lease
    from indexer.catalog.publish import remove
    from indexer.maintenance import purge as purge_segments
    from indexer.maintenance import sweep

    names = [*(id or []), *_lines(ids)]
    if not names and not purge:
        raise InvalidInput("No document is named.", hint="Give --id or --ids, or --purge alone.", field="id")
    with checked_store(Settings()) as store, lease(store.catalog, collection) as held:
        sweep(store, held)
        deleted = remove(store.catalog, held, names)
        removed = purge_segments(store, held, wait_for_readers) if purge else None
        generation = store.catalog.generation(collection)
    missing = sorted(set(names) - deleted)
    if as_json:
        purged = None if removed is None else asdict(removed)
        print_json({"deleted": len(deleted), "not_found": missing, "generation": generation, "purged": purged})
        return
    out.print(f"{counted(len(deleted), 'document')} deleted from {collection}; {len(missing):,} not found.")
    if removed is not None:
        out.print(f"All deleted text is erased from the disk. {removed_text(removed)}", soft_wrap=True)


def _lines(path: Path | None) -> Iterator[str]:
    if path is None:
        return
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from filter(None, (line.rstrip("\r\n") for line in file))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", hint="Give a text file in UTF-8.", field="ids") from error
