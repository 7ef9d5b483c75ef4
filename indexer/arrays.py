"""The arrays of a segment that every search reads: the first argument of the kernels."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int8, UInt8

# Units that one block of inverse norms covers (``indexer.segments.layout``).
BLOCK = 256


class SegmentArrays(NamedTuple):
    """Unit vectors and inverse span norms, as on disk; ``shortest`` is the length of the first norms.

    ``borders`` has the code of the border before every unit; 0 is none.

    A named tuple, because numba compiles functions of these: a further array is one more field.
    """

    vectors: Int8[np.ndarray, "units dim"]
    scales: Float32[np.ndarray, " units"]
    norm_codes: UInt8[np.ndarray, "blocks lengths {BLOCK}"]
    norm_affine: Float32[np.ndarray, "blocks lengths 2"]
    shortest: int
    borders: UInt8[np.ndarray, " units"]
