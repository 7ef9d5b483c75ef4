"""A corpus of a wanted size: the first whole documents of an indexed collection, copied with their stored vectors."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from indexer.engine.snapshot import Snapshot
from indexer.segments import layout
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.types import Recipe
from models.errors import InvalidInput
from research.benchmarks.case import StoredVectors
from research.benchmarks.engines.scan import SEGMENTS, open_segments


@dataclass(frozen=True, slots=True)
class Split:
    """The documents of a collection: those that are indexed, and those that queries are taken from."""

    indexed: tuple[Source, ...]
    rest: tuple[Source, ...]


def first_documents(snapshot: Snapshot, units: int) -> Split:
    """The first whole live documents that together have no more than ``units`` units, and all the others."""
    indexed, rest, left = [], [], units
    for view in snapshot.views:
        sizes = np.where(view.live_documents, np.diff(view.segment.document_units), 0)
        fits = view.live_documents & (np.cumsum(sizes) <= left)
        others = view.live_documents & ~fits
        indexed.append(Source(view.segment, fits))
        rest.append(Source(view.segment, others))
        # The first one that does not fit is the end, so that a larger corpus holds all of a smaller one.
        left = 0 if others.any() else left - int(sizes.sum())
    split = Split(_with_documents(indexed), _with_documents(rest))
    if not split.indexed:
        raise InvalidInput(
            f"The first document has more than {units:,} units.", hint="Ask for more units.", field="units"
        )
    return split


def copy(sources: Sequence[Source], recipe: Recipe, folder: Path, segment_units: int | None) -> list[Segment]:
    """Write the documents of ``sources`` as segments of about so many units, or as one."""
    written = {}
    for number, group in enumerate(_groups(sources, segment_units)):
        info, _ = merge(folder / f"{number:04d}", recipe, group)
        written[info.name] = info.manifest_sha256
    (folder / SEGMENTS).write_text(json.dumps(written), "utf-8")
    return open_segments(folder)


def stored_vectors(segments: Sequence[Segment]) -> tuple[StoredVectors, ...]:
    """Files of the segments' vectors, relative to the folder that holds the segments."""
    return tuple(
        StoredVectors(
            f"{segment.folder.name}/{layout.VECTORS}", f"{segment.folder.name}/{layout.SCALES}", segment.manifest.units
        )
        for segment in segments
    )


def _with_documents(sources: Sequence[Source]) -> tuple[Source, ...]:
    return tuple(source for source in sources if source.live.any())


def _groups(sources: Sequence[Source], segment_units: int | None) -> list[list[Source]]:
    """The documents of all sources, cut into runs of about ``segment_units`` units."""
    if segment_units is None:
        return [list(sources)]
    groups: list[list[Source]] = []
    before = 0
    for source in sources:
        sizes = np.where(source.live, np.diff(source.segment.document_units), 0)
        turn = (before + np.cumsum(sizes) - sizes) // segment_units
        for number in np.unique(turn[source.live]).tolist():
            chosen = Source(source.segment, source.live & (turn == number))
            if number < len(groups):
                groups[number].append(chosen)
            else:
                groups.append([chosen])
        before += int(sizes.sum())
    return groups
