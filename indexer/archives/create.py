"""Make a snapshot of a collection while it is searched and written to.

The rows are copied at one moment, then the segments that they name, pinned by hard links first. What was merged and
removed before it could be pinned makes the copy begin again. What is acknowledged before the call is in the snapshot.
"""

from pathlib import Path
from typing import Final

from indexer.archives.archive import CATALOG, ArchiveInfo, OnBytes, write_archive
from indexer.archives.pins import copy_and_pin
from indexer.disk import full_disk_named
from indexer.nuggets.recipe import nugget_recipe
from indexer.process_folders import process_folder
from indexer.segments.layout import MANIFEST
from indexer.segments.manifest import FileEntry, describe, read_manifest
from indexer.store import Store
from indexer.types import Collection, Generation
from models.encoders.nuggets.whitened import whitening_path

PINS: Final = "snapshot-pins"
_COLLECTION: Final = "collection"


def create_archive(store: Store, name: str, path: Path, progress: OnBytes = lambda done, total: None) -> ArchiveInfo:
    """Write a collection to a new file. Keys, aliases and tasks are not in it.

    Raises ``CollectionNotFound``, ``StorageFull``, and ``BackupFailed`` where segments are damaged or disappear.
    """
    collection = store.catalog.collection(name)
    with full_disk_named(), process_folder(store.data_dir / PINS) as folder:
        (folder / _COLLECTION).write_text(collection.id)
        [(copied, generation)] = copy_and_pin(store, folder / CATALOG, lambda _: folder / "segments", collection.id)
        sources = {CATALOG: folder / CATALOG, **_segments(folder, generation), **_whitening(store, copied)}
        info = ArchiveInfo(
            collection=copied.name,
            encoder=copied.recipe.encoder,
            documents=copied.documents,
            units=copied.units,
            generation=copied.generation,
            created_at=store.catalog.clock().isoformat(timespec="seconds"),
            files=_entries(folder, generation, sources),
        )
        write_archive(path, info, sources, progress)
    return info


def collection_of(folder: Path) -> str | None:
    """The id of the collection whose snapshot is made in a folder; None while that is not known."""
    try:
        return (folder / _COLLECTION).read_text() or None
    except FileNotFoundError:
        return None


def _segments(folder: Path, generation: Generation) -> dict[str, Path]:
    files = {}
    for live in generation.segments:
        name = live.info.name
        manifest = read_manifest(folder / "segments" / name, live.info.manifest_sha256)
        for file in (MANIFEST, *sorted(manifest.files)):
            files[f"segments/{name}/{file}"] = folder / "segments" / name / file
    return files


def _whitening(store: Store, collection: Collection) -> dict[str, Path]:
    """The matrix by which the nuggets of the collection were whitened, if there is one."""
    nuggets = nugget_recipe(collection.recipe)
    path = None if nuggets is None else whitening_path(nuggets.fingerprint, store.data_dir / "whitenings")
    return {f"whitenings/{path.name}": path} if path is not None and path.exists() else {}


def _entries(folder: Path, generation: Generation, sources: dict[str, Path]) -> dict[str, FileEntry]:
    """Sizes and checksums; manifests, written with their segments, have the checksums of these."""
    written: dict[str, FileEntry] = {}
    for live in generation.segments:
        name = live.info.name
        manifest = read_manifest(folder / "segments" / name, live.info.manifest_sha256)
        written |= {f"segments/{name}/{file}": entry for file, entry in manifest.files.items()}
    return {name: written.get(name) or describe(path) for name, path in sources.items()}
