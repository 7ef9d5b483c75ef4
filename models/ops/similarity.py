"""Cosine, and raw, which is derived from it."""

from typing import TypeVar

import numpy as np
from jaxtyping import Float

Scale = TypeVar("Scale", float, np.ndarray)


def normalize(vectors: Float[np.ndarray, "... dim"]) -> Float[np.ndarray, "... dim"]:
    """Vectors of length 1 in the same directions; a zero vector stays zero.

    >>> normalize(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def raw_from_cosine(cosine: Scale) -> Scale:
    """Map a cosine from [-1, 1] to [0, 1]: ``raw = (1 + cosine) / 2``.

    >>> raw_from_cosine(0.5)
    0.75
    """
    return (1 + cosine) / 2


def cosine_from_raw(raw: Scale) -> Scale:
    """The inverse of :func:`raw_from_cosine`.

    >>> cosine_from_raw(0.75)
    0.5
    """
    return 2 * raw - 1


def raws(cosines: Float[np.ndarray, " spans"]) -> Float[np.ndarray, " spans"]:
    """The raws of cosines, or of span scores, clipped to [0, 1]: scores may lie below -1, and rounding errors above 1.

    >>> raws(np.array([-1.0000001, 0.5])).tolist()
    [0.0, 0.75]
    """
    return np.clip(raw_from_cosine(cosines), 0.0, 1.0)
