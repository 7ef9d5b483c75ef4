"""Verify a store: the files of segments against their checksums, and the catalog against the segments."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from indexer.catalog.collections import live_document_ids
from indexer.indexing.deletion import left_behind
from indexer.store import Store
from indexer.types import Collection, LiveSegment
from models.errors import SpanseekError


@dataclass(frozen=True, slots=True)
class Verified:
    """The numbers of collections and segments that were verified, and their damage, one sentence each."""

    collections: int
    segments: int
    damages: tuple[str, ...]


def verify_store(store: Store, collection: str | None = None) -> Verified:
    """Verify one collection, or all: one that cannot be read does not hide the others."""
    named = store.catalog.collections() if collection is None else (store.catalog.collection(collection),)
    unreadable = store.catalog.damaged() if collection is None else ()
    damages = [str(error) for error in unreadable]
    for each in named:
        try:
            damages += verify_collection(store, each)
        except SpanseekError as error:
            damages.append(f"{each.name}: {error}")
    if collection is None:
        damages += [
            f"{store.folder_of(id)} belongs to no collection: the next job removes it if a crash left it."
            for id in left_behind(store)
        ]
    return Verified(len(named) + len(unreadable), sum(each.segments for each in named), tuple(damages))


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
    damaged_files = list(store.segments.damages(collection.id, live.info))
    return damaged_files or list(_differences(store, collection, live))


def _differences(store: Store, collection: Collection, live: LiveSegment) -> Iterator[str]:
    """Compare the ids of a segment in the catalog with the ids of its live documents."""
    segment = store.segments.open(collection.id, live.info)
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
