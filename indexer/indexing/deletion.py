"""Deleting a collection: first its rows, in one transaction, then its files.

A marker in the folder tells what a crash between the two left behind. ``sweep_deleted`` removes a folder only where
it is marked and no collection has its id, so that a wrong database never costs a file. A collection that is being
restored is marked until its rows are there; its marker names the folder of the process that restores it.
"""

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from indexer.catalog.leases import Lease
from indexer.catalog.publish import remove_collection
from indexer.errors import CollectionAliased, LeaseLost
from indexer.process_folders import is_in_use
from indexer.segments.seal import fsync
from indexer.store import Store

_MARKER = "DELETED"

_log = logging.getLogger(__name__)


def delete_collection(store: Store, held: Lease) -> None:
    """Delete a collection with its documents, phrases, matches and tuning.

    Running searches finish on their snapshots; later ones raise ``CollectionNotFound``.
    """
    marker = mark_deleted(store, held.collection_id)
    try:
        remove_collection(store.catalog, held)
    except (LeaseLost, CollectionAliased):  # the errors after which the rows are certainly still there
        marker.unlink()
        raise
    store.forget(held.collection)
    remove_files(store, held.collection_id)


def mark_deleted(store: Store, collection_id: str) -> Path:
    """Mark the folder of a collection for ``sweep_deleted``, which removes it once the catalog has no such row."""
    folder = store.folder_of(collection_id)
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / _MARKER
    marker.touch()
    return marker


def remove_files(store: Store, collection_id: str) -> None:
    """Remove the folder of a collection whose rows are deleted."""
    _remove(store.folder_of(collection_id))


def mark_restoring(segments: Path, work: Path) -> None:
    """Mark a folder of segments before it is moved to its place; ``work`` is the folder of this process."""
    (segments / _MARKER).write_text(f"{work.parent.name}/{work.name}")
    fsync(segments)


def unmark(store: Store, collection_id: str) -> None:
    """Remove the marker of a collection whose rows are there."""
    (store.folder_of(collection_id) / _MARKER).unlink(missing_ok=True)


def sweep_deleted(store: Store) -> None:
    """Remove the folders of deleted and half restored collections that a crash left behind."""
    marked = (marker.parent for marker in _folder(store).glob(f"*/{_MARKER}"))
    for folder in _of_no_collection(store, marked):
        _remove(folder)


def left_behind(store: Store) -> list[Path]:
    """Folders of segments that belong to no collection, and to none that is being restored."""
    return _of_no_collection(store, _folder(store).glob("*/"))


def _folder(store: Store) -> Path:
    return store.data_dir / "collections"


def _of_no_collection(store: Store, folders: Iterable[Path]) -> list[Path]:
    # Restorers first: one that ends before the ids are read has committed, or never will.
    abandoned = [folder for folder in folders if not _is_restored_now(store, folder)]
    present = store.catalog.ids() if abandoned else frozenset()
    return [folder for folder in abandoned if folder.name not in present]


def _is_restored_now(store: Store, folder: Path) -> bool:
    try:
        work = (folder / _MARKER).read_text()
    except FileNotFoundError:
        return False
    return bool(work) and is_in_use(store.data_dir / work)


def _remove(folder: Path) -> None:
    """Remove a folder, its marker last: what cannot be removed now is swept later."""
    try:
        for path in folder.iterdir():
            if path.name != _MARKER:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(folder)
    except OSError as error:
        _log.warning("the files of a deleted collection were not removed: %s", error)
