"""Pins: hard links to the files of segments, so that merges may remove the segments while they are copied."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from indexer.catalog.collections import Catalog
from indexer.catalog.copying import copy_catalog
from indexer.errors import BackupFailed, SegmentCorrupt
from indexer.segments.manifest import check_sizes, read_manifest
from indexer.store import Store
from indexer.types import Collection, Generation

_ATTEMPTS: Final = 5


def copy_and_pin(
    store: Store, path: Path, place: Callable[[Collection], Path], id: str | None = None
) -> list[tuple[Collection, Generation]]:
    """Copy the catalog, or the rows of one collection, and pin all segments they name in the ``place`` of each.

    Begins again where segments are gone by then. Raises ``BackupFailed`` where they keep disappearing.
    """
    for _ in range(_ATTEMPTS):
        path.unlink(missing_ok=True)
        with closing(Catalog(copy_catalog(store.catalog, path, id))) as catalog:
            collections = catalog.collections() if id is None else [catalog.by_id(id)]
            copied = [(each, catalog.live_generation(each.name)) for each in collections]
        try:
            for collection, generation in copied:
                for live in generation.segments:
                    with store.segments.held(collection.id, live.info) as segment:
                        pin(segment, place(collection) / live.info.name, live.info.manifest_sha256)
        except (FileNotFoundError, SegmentCorrupt):  # merged, and being removed since the rows were copied
            continue
        return copied
    raise BackupFailed(
        "Segments that the catalog names are missing or incomplete.",
        hint="`spanseek verify` lists missing files. If there are none, raise SPANSEEK_GRACE_S and run it again.",
    )


def pin(segment: Path, target: Path, sha256: str) -> None:
    """Hard-link the files of a segment; copy them where the file system has no hard links.

    Raises ``FileNotFoundError`` or ``SegmentCorrupt`` where files are missing.
    """
    if not target.exists():
        target.mkdir(parents=True)
        for path in segment.iterdir():
            _link(path, target / path.name)
    check_sizes(target, read_manifest(target, sha256))


def _link(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(path, target)
