"""Spans of units: enumeration, vectors, and cosines with a query by prefix sums.

Section 3 of the SLICE paper (Orbach et al., 2023): a span's vector is the mean of its units' vectors. A cosine does
not depend on length, so sums serve as well as means.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from models.types import SpanBounds


def enumerate_spans(units: int, bounds: SpanBounds) -> Int[np.ndarray, "spans 2"]:
    """All spans of a text of ``units`` units, shortest first, then from left to right.

    >>> enumerate_spans(3, SpanBounds(2, 5)).tolist()
    [[0, 2], [1, 3], [0, 3]]
    """
    spans = [(start, start + length) for length in bounds.lengths for start in range(units - length + 1)]
    return np.array(spans, np.int64).reshape(-1, 2)


def prefix_sums(vectors: Float[np.ndarray, "units dim"]) -> Float[np.ndarray, "bounds dim"]:
    """Running sums, starting with zero: the sum over units ``i:j`` is ``prefix[j] - prefix[i]``.

    Sums are taken in float64, so that the differences of long texts keep float32 accuracy.
    """
    return np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])


def span_sums(
    vectors: Float[np.ndarray, "units dim"], spans: Int[np.ndarray, "spans 2"]
) -> Float[np.ndarray, "spans dim"]:
    """The sum of the unit vectors of every span.

    >>> span_sums(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0, 2], [1, 2]])).tolist()
    [[1.0, 2.0], [0.0, 2.0]]
    """
    prefix = prefix_sums(vectors)
    return prefix[spans[:, 1]] - prefix[spans[:, 0]]


def span_cosines(
    query: Float[np.ndarray, " dim"],
    vectors: Float[np.ndarray, "units dim"],
    spans: Int[np.ndarray, "spans 2"],
) -> Float[np.ndarray, " spans"]:
    """Cosine of a query with every span; a span whose vectors cancel out has cosine 0.

    >>> units = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> span_cosines(np.array([1.0, 0.0]), units, np.array([[0, 1], [1, 2], [0, 2]])).round(3).tolist()
    [1.0, 0.0, 0.707]
    """
    sums = span_sums(vectors, spans)
    norms = np.linalg.norm(sums, axis=1) * np.linalg.norm(query)
    return np.divide(sums @ query, norms, out=np.zeros(len(spans)), where=norms > 0)


def has_direction(
    vectors: Float[np.ndarray, "units dim"],
    spans: Int[np.ndarray, "spans 2"],
    sums: Float[np.ndarray, "spans dim"],
) -> Bool[np.ndarray, " spans"]:
    """A mask of the spans whose sum exceeds rounding errors: where vectors cancel out, a cosine is meaningless.

    >>> opposite, spans = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([[0, 1], [0, 2]])
    >>> has_direction(opposite, spans, span_sums(opposite, spans)).tolist()
    [True, False]
    """
    mass = prefix_sums((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))[:, 0]
    return (sums**2).sum(axis=1) > 1e-8 * (mass[spans[:, 1]] - mass[spans[:, 0]])
