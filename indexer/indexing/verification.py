"""Verify a store: the files of segments against their checksums, and the catalog against the segments."""

from collections.abc import Iterator

import numpy as np

from indexer.catalog.collections import live_document_ids
from indexer.segments.manifest import damages
from indexer.segments.opened import open_segment
from indexer.store import Store
from indexer.types import Collection, LiveSegment


def verify_collection(store: Store, collection: Collection) -> list[str]:
    """Describe all damage of a collection's segments, one sentence each; empty without damage.

    During writes, catalog and segments may belong to two generations: then they are compared again.
    """
    generation = store.catalog.live_generation(collection.name)
    damage = [sentence for live in generation.segments for sentence in _verify(store, collection, live)]
    if damage and store.catalog.generation(collection.name) != generation.number:
        return verify_collection(store, collection)
    return damage


def _verify(store: Store, collection: Collection, live: LiveSegment) -> list[str]:
    damaged_files = list(damages(store.folder(collection) / live.info.name, live.info.manifest_sha256))
    return damaged_files or list(_differences(store, collection, live))


def _differences(store: Store, collection: Collection, live: LiveSegment) -> Iterator[str]:
    """Compare the ids of a segment in the catalog with the ids of its live documents."""
    segment = open_segment(store.folder(collection) / live.info.name, live.info.manifest_sha256)
    ids = np.array(segment.document_table.column("id").to_pylist(), object)
    held = set(np.delete(ids, live.tombstones))
    name = live.info.name
    named = live_document_ids(store.catalog, collection, name)
    if missing := named - held:
        yield f"{name}: the catalog names {len(missing):,} documents that it does not hold, {_first(missing)}."
    if extra := held - named:
        yield f"{name}: it holds {len(extra):,} documents that the catalog does not name, {_first(extra)}."


def _first(ids: set[str]) -> str:
    return f"the first of them {min(ids)!r}"
