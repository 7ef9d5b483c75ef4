"""Restore a snapshot as a new collection, in any catalog.

Everything is written and checked beside the collections first. Then one transaction inserts the rows and, as its last
step, moves the folder of segments to its place: a search sees all of it or nothing. A crash leaves files of a process
that is gone, which the next restore removes, or a marked folder, which the next job removes.
"""

import shutil
import uuid
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indexer.archives.archive import CATALOG, ArchiveInfo, OnBytes, extract_archive
from indexer.catalog.adoption import Names, adopt_collection
from indexer.catalog.collections import Catalog
from indexer.catalog.names import checked_collection_name
from indexer.catalog.schema import upgrade
from indexer.disk import full_disk_named
from indexer.errors import CatalogNotInitialised, CatalogUnavailable, SegmentCorrupt, SnapshotInvalid
from indexer.indexing.deletion import mark_restoring, sweep_deleted, unmark
from indexer.process_folders import process_folder
from indexer.segments.folders import final_name, new_folder
from indexer.segments.manifest import check_sizes, read_manifest
from indexer.segments.seal import fsync
from indexer.store import Store
from indexer.types import Collection, Generation
from models.atomic import replacing

RESTORING: Final = "restoring"


@dataclass(frozen=True, slots=True)
class _Copied:
    """The collection of an extracted snapshot."""

    url: str
    collection: Collection
    generation: Generation


def restore_archive(
    store: Store, path: Path, name: str | None = None, progress: OnBytes = lambda done, total: None
) -> Collection:
    """Restore a snapshot under its own or another name; snapshots of earlier versions are upgraded.

    Raises ``SnapshotInvalid``, ``StorageFull``, and ``CollectionExists`` where a collection or an alias has the name.
    """
    if name is not None:
        checked_collection_name(name)
    sweep_deleted(store)
    with full_disk_named(), process_folder(store.data_dir / RESTORING) as folder:
        info = extract_archive(path, folder, progress)
        copied = _checked(path, folder, info)
        names = _new_names(copied, name or info.collection)
        segments = _renamed(folder, names)
        _keep_whitenings(folder, store.data_dir / "whitenings")
        mark_restoring(segments, folder)
        final = store.data_dir / "collections" / names.collection_id
        with closing(Catalog(copied.url)) as source:
            adopt_collection(store.catalog, source, names, last=lambda: _move(segments, final))
        unmark(store, names.collection_id)
    return store.catalog.collection(names.name)


def _checked(path: Path, folder: Path, info: ArchiveInfo) -> _Copied:
    """Upgrade the extracted rows, and compare them with the segments."""
    url = f"sqlite:///{folder / CATALOG}"
    try:
        upgrade(url)
        with closing(Catalog(url)) as catalog:
            (collection,) = catalog.collections()
            generation = catalog.live_generation(collection.name)
        for live in generation.segments:
            segment = folder / "segments" / live.info.name
            check_sizes(segment, read_manifest(segment, live.info.manifest_sha256))
    except SegmentCorrupt as error:
        raise SnapshotInvalid(f"{path.name} is no valid snapshot: {error}", hint=error.hint, field="file") from error
    except (CatalogUnavailable, CatalogNotInitialised, ValueError, LookupError) as error:
        reason = "its catalog cannot be read, or is of a later version of Spanseek"
        hint = "Restore it with the version that wrote it, or a later one."
        raise SnapshotInvalid(f"{path.name} is no valid snapshot: {reason}.", hint=hint, field="file") from error
    if collection.name != info.collection:
        raise SnapshotInvalid(f"{path.name} is no valid snapshot: its index names another collection.", field="file")
    return _Copied(url, collection, generation)


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
        segment = renamed / new
        (folder / "segments" / old).rename(segment)
        for file in segment.iterdir():
            fsync(file)
        fsync(segment)
    fsync(renamed)
    return renamed


def _keep_whitenings(folder: Path, whitenings: Path) -> None:
    """Copy matrices that the store does not have; they are named by their contents."""
    for file in (folder / "whitenings").glob("*"):
        target = whitenings / file.name
        if not target.exists():
            whitenings.mkdir(exist_ok=True)
            with replacing(target) as partial:
                shutil.copyfile(file, partial)


def _move(segments: Path, final: Path) -> None:
    final.parent.mkdir(exist_ok=True)
    segments.rename(final)
    fsync(final.parent)
