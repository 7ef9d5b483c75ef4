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
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float32

from app.search.best_span import SpanSearch
from app.search.encoders import Encoders
from app.search.maxsim import DocumentSearch
from app.search.modes import Mode, check_mode
from app.search.nugget_queries import NuggetQuery
from app.search.threshold import check_threshold, cosine_floor, used_threshold
from app.search.types import SearchAnswer, SearchRequest, UsedThreshold
from indexer.ann.documents import DocumentCandidates
from indexer.engine.base import Engine, ScoredSpan
from indexer.engine.nuggets import DocumentEngine, ScoredDocument
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.store import Store
from indexer.tuning import Tuning
from models.errors import InvalidInput

# What an engine finds for one query, best first.
Found: TypeAlias = list[ScoredSpan] | list[ScoredDocument]


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
    """A prepared request with its query made vectors of length 1: one, or the nuggets of mode maxsim."""

    prepared: Prepared
    query: Float32[np.ndarray, " dim"] | NuggetQuery

    @property
    def vector(self) -> Float32[np.ndarray, " dim"]:
        """The one vector of mode best_span. Raises ``InvalidInput`` in a mode whose queries have many."""
        if isinstance(self.query, NuggetQuery):
            raise InvalidInput("This can be done in mode best_span only.", field="mode")
        return self.query


class SearchService:
    """Answers searches over the collections of one store."""

    def __init__(
        self, store: Store, encoders: Encoders, engine: Engine, documents: DocumentEngine | None = None
    ) -> None:
        self._store = store
        # What differs from mode to mode; the steps, and all else, do not.
        self._modes: dict[Mode, Any] = {
            "best_span": SpanSearch(encoders, engine),
            "maxsim": DocumentSearch(encoders, documents or DocumentCandidates()),
        }

    def search(self, *requests: SearchRequest) -> list[SearchAnswer]:
        """Answer requests one after the other's preparation, together where that is cheaper.

        Raises the first request's error that there is; nothing is answered then.
        """
        encoded = self.encode([self.prepare(request) for request in requests])
        return [self.finish(item, found) for item, found in zip(encoded, self.scan(encoded), strict=True)]

    def prepare(self, request: SearchRequest) -> Prepared:
        """Open the collection's present snapshot and refuse what could not be answered from it."""
        started = time.perf_counter()
        snapshot = self._store.snapshot(request.collection)
        check_mode(request.collection, request.mode, snapshot.recipe)
        if (request.text is None) == (request.vector is None):
            raise InvalidInput("Give either text or vector.", field="text")
        _refuse_surrogates(request)
        check_threshold(request.threshold)
        mode = self._modes[request.mode]
        mode.check(request, snapshot.recipe)
        tuning = self._store.tunings.present(request.collection, request.mode)
        used = used_threshold(request, tuning)
        floor = None if used.value is None else cosine_floor(used.value, used.on, tuning)
        return Prepared(request, snapshot, tuning, used, mode.wanted(request, floor), started)

    def encode(self, prepared: Sequence[Prepared]) -> list[Encoded]:
        """Queries made vectors; all texts that one encoder reads share a forward pass."""
        queries: dict[int, Any] = {}
        alike: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for number, item in enumerate(prepared):
            recipe = item.snapshot.recipe
            alike[item.request.mode, recipe.fingerprint, recipe.nuggets].append(number)
        for (mode, *_), numbers in alike.items():
            requests = [prepared[number].request for number in numbers]
            found = self._modes[mode].encode(requests, prepared[numbers[0]].snapshot.recipe)
            queries |= dict(zip(numbers, found, strict=True))
        return [Encoded(item, queries[number]) for number, item in enumerate(prepared)]

    def scan(self, encoded: Sequence[Encoded]) -> list[Found]:
        """What is found; requests that want the same of the same snapshot share a pass over memory."""
        found: dict[int, Found] = {}
        alike: dict[tuple[Mode, int, str], list[int]] = defaultdict(list)
        for number, item in enumerate(encoded):
            prepared = item.prepared
            alike[prepared.request.mode, id(prepared.snapshot), repr(prepared.wanted)].append(number)
        for (mode, *_), numbers in alike.items():
            first = encoded[numbers[0]].prepared
            queries = [encoded[number].query for number in numbers]
            found |= dict(zip(numbers, self._modes[mode].find(first.snapshot, queries, first.wanted), strict=True))
        return [found[number] for number in range(len(encoded))]

    def finish(self, encoded: Encoded, found: Found) -> SearchAnswer:
        """Fetch texts and metadata."""
        prepared = encoded.prepared
        mode = self._modes[prepared.request.mode]
        presented = mode.present(prepared.request, encoded.query, found, prepared.tuning)
        used = prepared.threshold
        hits = tuple(hit for hit in presented if used.value is None or getattr(hit, used.on) >= used.value)
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
