"""Changing the metadata of documents: their rows are copied into a new segment, and nothing is encoded again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from indexer.catalog.leases import Lease
from indexer.engine.located import Located, find_documents
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import SegmentCorrupt
from indexer.indexing.matching import publish_matched
from indexer.indexing.new_segment import new_segment
from indexer.reading.stored_documents import stored_document
from indexer.segments.columns import canonical
from indexer.segments.manifest import damages
from indexer.segments.merge import Relabelled, Source, merge
from indexer.sources.documents import content_hash
from indexer.store import Store
from models.types import Document, Metadata


def relabel(store: Store, held: Lease, snapshot: Snapshot, metadata: Mapping[str, Metadata]) -> int:
    """Give live documents of the present generation other metadata, by id; returns the generation that has them.

    Saved phrases, which may filter by metadata, are matched with them anew. A later upload of the same texts with
    this metadata finds the documents unchanged, unless the collection does not store texts.
    """
    located = find_documents(snapshot, metadata)
    relabelled = {id: _relabelled(each, metadata[id]) for id, each in located.items()}
    with new_segment(store, held) as folder:
        info, rows = merge(folder, snapshot.recipe, _sources(list(located.values())), relabelled=relabelled)
        info = replace(info, name=store.segments.settle(folder))
        return publish_matched(store, held, info, rows)


def _relabelled(located: Located, metadata: Metadata) -> Relabelled:
    segment = located.view.segment
    if not segment.recipe.stores_text:
        return Relabelled(metadata, _next_hash(segment.content_hash(located.document), metadata))
    stored = stored_document(segment, located.document)
    return Relabelled(metadata, content_hash(Document(stored.id, stored.parts, metadata)))


def _next_hash(old: str, metadata: Metadata) -> str:
    """Return a hash that no upload has, so that a later upload is encoded again: the text is not stored."""
    return hashlib.sha256(f"{old}/{canonical(dict(metadata))}".encode()).hexdigest()


def _sources(located: Sequence[Located]) -> list[Source]:
    views: dict[Path, SegmentView] = {each.view.segment.folder: each.view for each in located}
    return [_source(view, [each.document for each in located if each.view is view]) for view in views.values()]


def _source(view: SegmentView, rows: list[int]) -> Source:
    # Copied without a check, a flipped bit would get a new checksum and be undetectable.
    for damage in damages(*view.segment.key):
        raise SegmentCorrupt(damage, hint="Restore the segment from a backup, or index its documents again.")
    chosen = np.zeros(view.segment.manifest.documents, bool)
    chosen[rows] = True
    return Source(view.segment, chosen)
