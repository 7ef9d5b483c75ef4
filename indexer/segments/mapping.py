"""Files as arrays: mapped into memory, never copied."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from indexer.disk import full_disk_named
from indexer.errors import SegmentCorrupt, SegmentsUnreachable
from models.mapping import lost_pages, mapped_bytes


def mapped(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> np.ndarray:
    """Map a file as an array of this type and shape.

    Raises ``SegmentCorrupt`` where the size does not fit, and ``ResourcesExhausted`` where the process may map no more.
    """
    expected = math.prod(shape) * np.dtype(dtype).itemsize
    with full_disk_named():
        content = mapped_bytes(path, guarded=True)
    if content.size != expected:
        raise SegmentCorrupt(
            f"{path.parent.name}: {path.name} has {content.size} bytes instead of {expected}.",
            hint="Run `spanseek verify` to see all damage.",
        )
    return content.view(dtype).reshape(shape)


def cut_while_read() -> SegmentsUnreachable:
    """The error for data that may have been read from lost pages."""
    return SegmentsUnreachable(
        "A file of a segment was cut while it was read.",
        hint="Send the request again: what is damaged is left out then. Run `spanseek verify` to see all damage.",
    )


def require_nothing_lost(since: int) -> None:
    """Raise ``SegmentsUnreachable`` if pages were lost after ``since``: zeros may have been read in their place."""
    if lost_pages() != since:
        raise cut_while_read()
