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

from app.search.cut import check_threshold, cosine_floor, used_threshold
from app.search.encoders import Encoders
from app.search.hits import present
from app.search.modes import check_mode
from app.search.types import SearchAnswer, SearchRequest, UsedThreshold
from indexer.engine.base import Engine, ScoredSpan
from indexer.engine.snapshot import Snapshot
from indexer.engine.wanted import Selection
from indexer.store import Store
from indexer.tuning import Tuning
from indexer.types import Recipe
from models.encoders.base import check_query, encode_queries
from models.errors import InvalidInput
from models.ops.similarity import normalize


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that can be answered, and what will answer it: one snapshot, one tuning."""

    request: SearchRequest
    snapshot: Snapshot
    tuning: Tuning
    threshold: UsedThreshold
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
        check_mode(request.collection, request.mode)
        if (request.text is None) == (request.vector is None):
            raise InvalidInput("Give either text or vector.", field="text")
        _refuse_surrogates(request)
        check_threshold(request.threshold)
        if request.text is not None:
            check_query(self._encoders.matching(snapshot.recipe), request.text)
        else:
            _query_vector(request, snapshot.recipe)
        tuning = self._store.tunings.present(request.collection, request.mode)
        used = used_threshold(request, tuning)
        floor = None if used.value is None else cosine_floor(used.value, used.on, tuning)
        wanted = Selection(request.top_k, floor, request.group_by, request.filter)
        return Prepared(request, snapshot, tuning, used, wanted, started)

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
        prepared = encoded.prepared
        found = present(prepared.request, encoded.query, spans, prepared.tuning)
        used = prepared.threshold
        hits = tuple(hit for hit in found if used.value is None or getattr(hit, used.on) >= used.value)
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
