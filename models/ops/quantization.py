"""int8 vectors: symmetric quantization with one scale per vector, so that the largest component becomes 127."""

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


def quantize_directions(
    vectors: Float[np.ndarray, "nuggets dim"],
) -> tuple[Int8[np.ndarray, "nuggets dim"], Float32[np.ndarray, " nuggets"]]:
    """The codes of :func:`quantize`, and scales that make ``codes * scales[:, None]`` vectors of length 1.

    >>> codes, scales = quantize_directions(np.array([[3.0, 4.0], [0.0, 0.0]]))
    >>> codes.tolist(), np.linalg.norm(codes * scales[:, None], axis=1).round(6).tolist()
    ([[95, 127], [0, 0]], [1.0, 0.0])
    """
    codes, _ = quantize(vectors)
    lengths = np.sqrt(np.square(codes.astype(np.float64)).sum(axis=1))
    return codes, np.divide(1, lengths, out=np.zeros(len(codes)), where=lengths > 0).astype(np.float32)


def dequantize(
    codes: Int8[np.ndarray, "units dim"], scales: Float32[np.ndarray, " units"]
) -> Float32[np.ndarray, "units dim"]:
    """The vectors that codes and scales represent.

    >>> dequantize(np.array([[127, -64]], np.int8), np.array([0.5], np.float32)).tolist()
    [[63.5, -32.0]]
    """
    return codes.astype(np.float32) * scales[:, None]
