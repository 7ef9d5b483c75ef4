"""Deleting a collection: first its rows, in one transaction, then its files.

A mark shows what a crash between the two steps has left. ``sweep_deleted`` removes only the files of a marked
collection whose id is not in the catalog, so that a wrong database never costs a file. A collection that is being
restored is marked until its rows are committed. If a crash leaves a mark on a collection that exists, the next job that
holds its lease removes the mark, since nobody is deleting the collection.
"""

from indexer.catalog.leases import Lease
from indexer.catalog.publish import remove_collection
from indexer.errors import CollectionAliased, LeaseLost
from indexer.store import Store


def delete_collection(store: Store, held: Lease) -> None:
    """Delete a collection with its documents, phrases, matches and tuning.

    Running searches finish on their snapshots; later ones raise ``CollectionNotFound``.
    """
    store.segments.collections.mark(held.collection_id)
    try:
        remove_collection(store.catalog, held)
    except (LeaseLost, CollectionAliased):  # the errors after which the rows are certainly still there
        store.segments.collections.unmark(held.collection_id)
        raise
    store.forget(held.collection)
    store.segments.collections.erase(held.collection_id)


def sweep_deleted(store: Store, held: Lease | None = None) -> None:
    """Remove the files of deleted and half restored collections that a crash left, and a mark of the held one."""
    marked = store.segments.collections.marked()
    gone = _without_rows(store, marked)
    for id in gone:
        store.segments.collections.erase(id)
    if held is not None and held.collection_id in set(marked) - set(gone):
        store.segments.collections.unmark(held.collection_id)


def left_behind(store: Store) -> list[str]:
    """The ids of collections that have files and no rows, and are not being restored."""
    return _without_rows(store, store.segments.collections.ids())


def _without_rows(store: Store, listed: list[str]) -> list[str]:
    # Listed before the rows are read: a restorer that ended before that has committed, or never will.
    present = store.catalog.ids() if listed else frozenset()
    return [id for id in listed if id not in present]
