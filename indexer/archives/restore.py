"""Restore a snapshot as a new collection, in any catalog.

Everything is written and checked beside the collections first. Then one transaction inserts the rows and, as its last
step, moves the folder of segments to its place: a search sees all of it or nothing. To a bucket they go before it,
under a mark. A crash leaves files of a process that is gone, which the next restore removes, or a marked collection,
which the next job removes.
"""

import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indexer.archives.archive import CATALOG, ArchiveInfo, OnBytes, extract_archive
from indexer.archives.checking import Checking
from indexer.catalog.adoption import Names, adopt_collection
from indexer.catalog.collections import Catalog
from indexer.catalog.foreign import copy_foreign
from indexer.catalog.names import checked_collection_name
from indexer.disk import full_disk_named
from indexer.errors import SegmentCorrupt, SnapshotInvalid
from indexer.indexing.deletion import sweep_deleted
from indexer.process_folders import process_folder
from indexer.segments.folders import final_name, new_folder
from indexer.store import Store
from indexer.types import Collection, Generation
from models.atomic import fsync, fsync_tree, make_folder, rename
from models.encoders.registry import is_configured

RESTORING: Final = "restoring"
_ROWS: Final = "rows.sqlite3"


@dataclass(frozen=True, slots=True)
class _Copied:
    """The collection of an extracted snapshot."""

    url: str
    collection: Collection
    generation: Generation


def restore_archive(
    store: Store,
    path: Path,
    name: str | None = None,
    progress: OnBytes = lambda done, total: None,
    is_configured: Callable[[str], bool] = is_configured,
) -> Collection:
    """Restore a snapshot under its own or another name; snapshots of earlier versions are upgraded.

    ``is_configured`` says which encoders its recipe may name. Raises ``SnapshotInvalid`` for a file that is damaged or
    that no Spanseek wrote, ``StorageFull``, and ``CollectionExists`` where a collection or an alias has the name.
    """
    if name is not None:
        checked_collection_name(name)
    sweep_deleted(store)
    with full_disk_named(), process_folder(store.data_dir / RESTORING) as folder:
        info = extract_archive(path, folder, progress)
        copied = _checked(path, folder, info, is_configured)
        names = _new_names(copied, name or info.collection)
        segments = _renamed(folder, names)
        _keep_whitenings(folder, store.data_dir / "whitenings")
        placing = store.segments.collections.placing(segments, names.collection_id, folder)
        with placing as last, closing(Catalog(copied.url)) as source:
            adopt_collection(store.catalog, source, names, last=last)
    return store.catalog.collection(names.name)


def _checked(path: Path, folder: Path, info: ArchiveInfo, is_configured: Callable[[str], bool]) -> _Copied:
    """Copy the extracted rows into newest tables, and check them against the segments."""
    try:
        url = copy_foreign(folder / CATALOG, folder / _ROWS)
        Checking(folder / _ROWS, folder, info, is_configured).run()
    except (ValueError, SegmentCorrupt) as error:
        hint = "Take the file that `spanseek snapshot create` wrote, with that version or a later one."
        raise SnapshotInvalid(f"{path.name} is no valid snapshot: {error}.", hint=hint, field="file") from error
    with closing(Catalog(url)) as catalog:
        collection = catalog.collection(info.collection)
        return _Copied(url, collection, catalog.live_generation(collection.name))


def _new_names(copied: _Copied, name: str) -> Names:
    """New ids for everything: the collection that the snapshot was made of may still be there."""
    new = (final_name(new_folder(Path())).name for _ in copied.generation.segments)
    segments = dict(zip((live.info.name for live in copied.generation.segments), new, strict=True))
    return Names(uuid.uuid4().hex, name, segments)


def _renamed(folder: Path, names: Names) -> Path:
    """The folder of the collection's segments, under their new names and on the disk for good."""
    renamed = folder / "collection"
    renamed.mkdir()
    for old, new in names.segments.items():
        (folder / "segments" / old).rename(renamed / new)
    fsync_tree(renamed)
    return renamed


def _keep_whitenings(folder: Path, whitenings: Path) -> None:
    """Move matrices to the store that it does not have; they are named by their contents."""
    for file in (folder / "whitenings").glob("*"):
        target = whitenings / file.name
        if not target.exists():
            make_folder(whitenings)
            fsync(file)
            rename(file, target)
