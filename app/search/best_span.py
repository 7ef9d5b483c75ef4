"""Mode ``best_span``: one vector a query, and spans of any length compared with it."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32

from app.search.encoders import Encoders
from app.search.hits import present
from app.search.query_vectors import query_vector
from app.search.types import Hit, SearchRequest
from indexer.engine.base import Engine, ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.tuning import Tuning
from indexer.types import Recipe
from models.encoders.base import check_query, encode_queries


class SpanSearch:
    """Text or vector to spans, in the steps of the search service."""

    def __init__(self, encoders: Encoders, engine: Engine) -> None:
        self._encoders = encoders
        self._engine = engine

    def check(self, request: SearchRequest, recipe: Recipe) -> None:
        """Refuse a query that could not be encoded whole."""
        if request.text is None:
            query_vector(request, recipe.dim)
        else:
            check_query(self._encoders.matching(recipe), request.text)

    def wanted(self, request: SearchRequest, floor: float | None) -> Selection:
        """What the engine is asked for."""
        return Selection(request.top_k, floor, request.group_by or "span", request.filter)

    def encode(self, requests: Sequence[SearchRequest], recipe: Recipe) -> list[Float32[np.ndarray, " dim"]]:
        """The query vector of every request; all texts share a forward pass."""
        texts = [request.text for request in requests if request.text is not None]
        read = iter(encode_queries(self._encoders.matching(recipe), texts) if texts else ())
        return [query_vector(request, recipe.dim) if request.text is None else next(read) for request in requests]

    def find(
        self, snapshot: Snapshot, queries: Sequence[Float32[np.ndarray, " dim"]], wanted: Selection
    ) -> list[list[ScoredSpan]]:
        """The best spans for every query, from one pass over memory."""
        return self._engine.search(snapshot, np.stack(queries), wanted)

    def present(
        self, request: SearchRequest, query: Float32[np.ndarray, " dim"], found: list[ScoredSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits with texts and metadata."""
        return present(request, query, found, tuning)
