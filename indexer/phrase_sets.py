"""The saved phrases of all collections, kept in memory with their vectors and read again when they have changed."""

from threading import Lock
from typing import TYPE_CHECKING

from indexer.catalog.collections import Catalog

if TYPE_CHECKING:
    from indexer.phrases import PhraseSet


class PhraseSets:
    """Safe to share between threads."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[str, PhraseSet] = {}
        self._lock = Lock()

    def present(self, collection_id: str) -> "PhraseSet":
        """A collection's phrases and tuning as they are now: the catalog is asked for a number, seldom for more."""
        # Imported here because only matching needs numba.
        from indexer.catalog.phrase_rows import read_phrase_set

        with self._lock:
            found = read_phrase_set(self._catalog, collection_id, self._known.get(collection_id))
            self._known[collection_id] = found
            return found
