"""The last step of writing a segment: everything is forced to the disk and named, with checksums, in the manifest."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from indexer.segments.layout import MANIFEST
from indexer.segments.manifest import Manifest, describe, write_manifest
from indexer.types import Recipe, SegmentInfo
from models.atomic import fsync

# Writes a file that follows from a segment's other files, given its folder and the first units of its parts.
Derive: TypeAlias = Callable[[Path, Recipe, Int[np.ndarray, " parts_and_one"]], None]


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The counts of a segment."""

    documents: int
    parts: int
    units: int
    unknown_units: int
    code_points: int
    rows: Mapping[str, int]  # of every representation besides units


def seal(folder: Path, recipe: Recipe, counts: RowCounts) -> SegmentInfo:
    """Write the manifest of a folder whose other files are complete, and sync them all."""
    names = sorted(path.name for path in folder.iterdir())
    files = {name: describe(folder / name) for name in names}
    sha256 = write_manifest(folder, Manifest(recipe=recipe, files=files, **asdict(counts)))
    for name in [*names, MANIFEST]:
        fsync(folder / name)
    fsync(folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return SegmentInfo(folder.name, sha256, counts.documents, counts.parts, counts.units, size)
