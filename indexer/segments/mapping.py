"""Files as arrays: mapped into memory, never copied."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from indexer.errors import SegmentCorrupt


def mapped(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> np.ndarray:
    """Map a file as an array of this type and shape; raises ``SegmentCorrupt`` where the size does not fit.

    An empty file, which the operating system refuses to map, is an empty array.
    """
    expected = math.prod(shape) * np.dtype(dtype).itemsize
    size = path.stat().st_size
    if size != expected:
        raise SegmentCorrupt(
            f"{path.parent.name}: {path.name} has {size} bytes instead of {expected}.",
            hint="Run `spanseek verify` to see all damage.",
        )
    # A plain array, because a slice of numpy's own kind of mapped array takes a microsecond more.
    return np.memmap(path, dtype, "r", shape=shape).view(np.ndarray) if size else np.zeros(shape, dtype)
