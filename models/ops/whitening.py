"""Whitening: equalises variance over all directions, so that common components count least."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Float64


@dataclass(frozen=True, slots=True)
class Whitening:
    """The strength of a whitening.

    With an ``exponent`` of 1 the variance is equal in all directions, with 0 it is unchanged. Directions of low
    variance hold mostly noise: a share ``floor`` of the mean variance is added to all.
    """

    exponent: float = 1.0
    floor: float = 0.1


def second_moment(vectors: Float[np.ndarray, "rows dim"]) -> Float64[np.ndarray, "dim dim"]:
    """The second moment matrix of vectors, about the origin.

    >>> second_moment(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[2.0, 0.0], [0.0, 8.0]]
    """
    long = vectors.astype(np.float64)
    return long.T @ long / len(long)


def whitening(moment: Float64[np.ndarray, "dim dim"], how: Whitening) -> Float32[np.ndarray, "dim dim"]:
    """The symmetric matrix that whitens vectors with this second moment.

    >>> [round(float(scale), 3) for scale in whitening(np.diag([16.0, 1.0]), Whitening(floor=0)).diagonal()]
    [0.729, 2.915]
    >>> whitening(np.diag([16.0, 1.0]), Whitening(exponent=0, floor=0)).diagonal().tolist()
    [1.0, 1.0]
    """
    variances, directions = np.linalg.eigh(moment)
    scales = (variances.clip(0) / variances.mean() + how.floor) ** (-how.exponent / 2)
    return ((directions * scales) @ directions.T).astype(np.float32)
