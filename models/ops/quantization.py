"""int8 unit vectors: symmetric, one scale a unit, chosen so that the largest component becomes 127."""

import numpy as np
from jaxtyping import Float, Float32, Int8


def quantize(
    vectors: Float[np.ndarray, "units dim"],
) -> tuple[Int8[np.ndarray, "units dim"], Float32[np.ndarray, " units"]]:
    """Codes and scales, so that ``codes * scales[:, None]`` is close to the vectors.

    >>> codes, scales = quantize(np.array([[254.0, -99.0], [0.0, 0.0]]))
    >>> codes.tolist(), scales.tolist()
    ([[127, -50], [0, 0]], [2.0, 0.0])
    """
    scales = np.abs(vectors).max(axis=1, initial=0).astype(np.float32) / np.float32(127)
    safe = np.where(scales > 0, scales, 1)[:, None]
    return np.rint(vectors / safe).clip(-127, 127).astype(np.int8), scales


def dequantize(
    codes: Int8[np.ndarray, "units dim"], scales: Float32[np.ndarray, " units"]
) -> Float32[np.ndarray, "units dim"]:
    """The vectors that codes and scales stand for.

    >>> dequantize(np.array([[127, -64]], np.int8), np.array([0.5], np.float32)).tolist()
    [[63.5, -32.0]]
    """
    return codes.astype(np.float32) * scales[:, None]
