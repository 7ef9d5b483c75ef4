"""A search from request to answer, in the order in which it happens.

``prepare`` checks the request against the collection, ``encode`` turns texts into query vectors, ``scan`` asks the
engine, ``finish`` fetches texts. ``encode`` and ``scan`` take many requests at once, because both cost little more
for many than for one.
"""

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from app.search.encoders import Encoders
from app.search.errors import ModeUnavailable
from app.search.hits import present
from app.search.types import SearchAnswer, SearchRequest, UsedThreshold
from indexer.engine.base import Engine, ScoredSpan
from indexer.engine.snapshot import Snapshot
from indexer.engine.wanted import Selection
from indexer.store import Store
from indexer.types import Recipe
from models.encoders.base import check_query, encode_queries
from models.errors import InvalidInput
from models.ops.similarity import cosine_from_raw, normalize

# More than the way from a cosine to raw and back may be off by.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that can be answered, and the snapshot that will answer it."""

    request: SearchRequest
    snapshot: Snapshot
    wanted: Selection
    started: float


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prepared request with its query vector, of unit length."""

    prepared: Prepared
    query: Float32[np.ndarray, " dim"]


class SearchService:
    """Answers searches over the collections of one store."""

    def __init__(self, store: Store, encoders: Encoders, engine: Engine) -> None:
        self._store = store
        self._encoders = encoders
        self._engine = engine

    def search(self, *requests: SearchRequest) -> list[SearchAnswer]:
        """Answer requests one after the other's preparation, together where that is cheaper.

        Raises the first request's error that there is; nothing is answered then.
        """
        encoded = self.encode([self.prepare(request) for request in requests])
        return [self.finish(item, spans) for item, spans in zip(encoded, self.scan(encoded), strict=True)]

    def prepare(self, request: SearchRequest) -> Prepared:
        """Open the collection's present snapshot and refuse what could not be answered from it."""
        started = time.perf_counter()
        snapshot = self._store.snapshot(request.collection)
        if request.mode != "best_span":
            raise ModeUnavailable(
                f"The collection {request.collection} cannot be searched in mode {request.mode}.",
                hint="Use mode best_span.",
                field="mode",
            )
        if (request.text is None) == (request.vector is None):
            raise InvalidInput("Give either text or vector.", field="text")
        _refuse_surrogates(request)
        if request.text is not None:
            check_query(self._encoders.matching(snapshot.recipe), request.text)
        else:
            _query_vector(request, snapshot.recipe)
        wanted = Selection(request.top_k, _floor(request), request.group_by, request.filter)
        return Prepared(request, snapshot, wanted, started)

    def encode(self, prepared: Sequence[Prepared]) -> list[Encoded]:
        """Query vectors; all texts that one encoder reads share a forward pass."""
        queries: dict[int, Float32[np.ndarray, " dim"]] = {}
        by_encoder: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(prepared):
            if item.request.text is None:
                queries[number] = _query_vector(item.request, item.snapshot.recipe)
            else:
                by_encoder[item.snapshot.recipe.fingerprint].append(number)
        for numbers in by_encoder.values():
            encoder = self._encoders.matching(prepared[numbers[0]].snapshot.recipe)
            vectors = encode_queries(encoder, [prepared[number].request.text or "" for number in numbers])
            queries |= dict(zip(numbers, vectors, strict=True))
        return [Encoded(item, queries[number]) for number, item in enumerate(prepared)]

    def scan(self, encoded: Sequence[Encoded]) -> list[list[ScoredSpan]]:
        """Scored spans; requests that want the same of the same snapshot share a pass over memory."""
        found: dict[int, list[ScoredSpan]] = {}
        alike: dict[tuple[int, str], list[int]] = defaultdict(list)
        for number, item in enumerate(encoded):
            alike[id(item.prepared.snapshot), repr(item.prepared.wanted)].append(number)
        for numbers in alike.values():
            first = encoded[numbers[0]].prepared
            queries = np.stack([encoded[number].query for number in numbers])
            found |= dict(zip(numbers, self._engine.search(first.snapshot, queries, first.wanted), strict=True))
        return [found[number] for number in range(len(encoded))]

    def finish(self, encoded: Encoded, spans: list[ScoredSpan]) -> SearchAnswer:
        """Fetch texts and metadata."""
        request, prepared = encoded.prepared.request, encoded.prepared
        found = present(request, encoded.query, spans)
        hits = tuple(hit for hit in found if request.threshold is None or hit.raw >= request.threshold)
        used = UsedThreshold(request.threshold, request.threshold_on)
        took_ms = round((time.perf_counter() - prepared.started) * 1000, 3)
        return SearchAnswer(hits, prepared.snapshot.generation, used, took_ms)


def _refuse_surrogates(request: SearchRequest) -> None:
    """What no encoding can carry comes from JSON escapes, and from shells that pass on bytes."""
    wanted = json.dumps([dict(request.filter.document), dict(request.filter.part)], ensure_ascii=False)
    for field, value in (("text", request.text or ""), ("filter", wanted)):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"The {field} holds a lone surrogate.", hint="Send UTF-8.", field=field) from error


def _floor(request: SearchRequest) -> float | None:
    # A little lower than asked, because raw is a rounded cosine: ``finish`` decides by what the hits show.
    return None if request.threshold is None else float(cosine_from_raw(request.threshold)) - _ROUNDING


def _query_vector(request: SearchRequest, recipe: Recipe) -> Float32[np.ndarray, " dim"]:
    vector = np.array(request.vector, np.float64)
    if vector.shape != (recipe.dim,):
        raise InvalidInput(
            f"The vector has {vector.size} numbers; the collection's vectors have {recipe.dim}.",
            field="vector",
        )
    if not np.isfinite(vector).all():
        raise InvalidInput("The vector holds a number that is not finite.", field="vector")
    largest = np.abs(vector).max()
    if largest == 0:
        raise InvalidInput("The vector is zero and has no direction.", field="vector")
    # Scaled first, so that the squares of very large or small numbers neither overflow nor vanish.
    return normalize(vector / largest).astype(np.float32)
