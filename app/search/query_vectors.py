"""Query vectors that requests contain."""

import numpy as np
from jaxtyping import Float32

from app.requests import SearchRequest
from models.errors import InvalidInput
from models.ops.similarity import normalize


def query_vector(request: SearchRequest, dim: int) -> Float32[np.ndarray, " dim"]:
    """The vector of a request, at length 1. Raises ``InvalidInput`` for a wrong dimension, NaN, infinity and zero.

    >>> query_vector(SearchRequest("calls", vector=(3e200, 4e200)), 2).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    vector = np.array(request.vector, np.float64)
    if vector.shape != (dim,):
        raise InvalidInput(
            f"The vector has {vector.size} numbers; the collection's vectors have {dim}.",
            field="vector",
        )
    if not np.isfinite(vector).all():
        raise InvalidInput("The vector holds a number that is not finite.", field="vector")
    largest = np.abs(vector).max()
    if largest == 0:
        raise InvalidInput("The vector is zero and has no direction.", field="vector")
    # Scaled first, so that the squares of very large or small numbers neither overflow nor vanish.
    return normalize(vector / largest).astype(np.float32)
