"""Files as arrays: mapped into memory, never copied."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from indexer.disk import full_disk_named
from indexer.errors import SegmentCorrupt
from models.mapping import mapped_bytes


def mapped(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> np.ndarray:
    """Map a file as an array of this type and shape.

    Raises ``SegmentCorrupt`` where the size does not fit, and ``ResourcesExhausted`` where the process may map no more.
    """
    expected = math.prod(shape) * np.dtype(dtype).itemsize
    with full_disk_named():
        content = mapped_bytes(path)
    if content.size != expected:
        raise SegmentCorrupt(
            f"{path.parent.name}: {path.name} has {content.size} bytes instead of {expected}.",
            hint="Run `spanseek verify` to see all damage.",
        )
    return content.view(dtype).reshape(shape)
