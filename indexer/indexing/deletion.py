"""Deleting a collection: first its rows, in one transaction, then its files.

A marker in the folder tells what a crash between the two left behind. ``sweep_deleted`` removes a folder only where
it is marked and no collection has its id, so that a wrong database never costs a file.
"""

import logging
import shutil
from pathlib import Path

from indexer.catalog.leases import Lease
from indexer.catalog.publish import remove_collection
from indexer.errors import CollectionAliased, LeaseLost
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


def sweep_deleted(store: Store) -> None:
    """Remove the folders of deleted collections that a crash left behind."""
    marked = [marker.parent for marker in (store.data_dir / "collections").glob(f"*/{_MARKER}")]
    if marked:
        present = store.catalog.ids()
        for folder in marked:
            if folder.name not in present:
                _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, its marker last: what cannot be removed now is swept later."""
    try:
        for path in folder.iterdir():
            if path.name != _MARKER:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(folder)
    except OSError as error:
        _log.warning("the files of a deleted collection were not removed: %s", error)
