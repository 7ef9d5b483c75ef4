"""Mining in the steps of a search: all phrases are prepared and encoded, and then searched in batches."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Final, Self

from app.mining.copies import Copy, near_copies
from app.requests import MiningRequest, SearchRequest
from app.search import literal
from app.search.aggregation.keys import field_of
from app.search.aggregation.stage import check_keys
from app.search.answers import Hit, UsedThreshold
from app.search.mode import AnyMode, available_mode
from app.search.request_plan import AnyEncoded, AnyPrepared, plan_of
from app.search.service import SearchService, encode
from app.search.threshold import used_threshold
from app.services import Services
from indexer.engine.snapshot import Snapshot
from indexer.filters.expression import Field
from indexer.reading.filter_fields import check_fields
from indexer.store import Store
from indexer.tuning import Tuning
from models.errors import InvalidInput
from models.interruption import checked
from models.text.words import words

# Phrases whose texts are encoded together.
_ENCODED: Final = 256
# Phrases that share a pass: the first time, and at most. Kernels take 16 at once.
_FIRST: Final = 64
_MOST: Final = 1_024
# Hits of a batch that are in memory at once: the next batch is smaller if there are more.
_HITS: Final = 500_000
# Hits whose texts are in memory at once.
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class MinedHits:
    """The hits of one phrase, best first, and whether these are all."""

    phrase: str
    hits: Iterator[Hit]
    complete: bool


class Mining:
    """The phrases of one request, encoded, and one generation of their collection."""

    def __init__(
        self, request: MiningRequest, snapshot: Snapshot, phrases: Sequence[AnyEncoded], search: SearchService
    ) -> None:
        self.request = request
        self.names = [phrase.label for phrase in request.phrases]
        self.counted = _counted_fields(request)
        self._snapshot, self._phrases, self._search = snapshot, phrases, search

    @property
    def generation(self) -> int:
        """The generation that is searched from beginning to end."""
        return self._snapshot.generation.number

    @property
    def threshold(self) -> UsedThreshold:
        """The threshold of all phrases."""
        return self._phrases[0].prepared.threshold

    def copies(self) -> Iterator[Copy]:
        """The near-copies among the phrases."""
        first = self._phrases[0].prepared
        vectors = first.mode.countable.text_vectors([phrase.query for phrase in self._phrases])
        folded = [words(phrase.text, first.snapshot.recipe.text) for phrase in self.request.phrases]
        return near_copies(self.names, folded, vectors, self.request.copies_from)

    def batches(self, start: int = 0) -> Iterator[list[MinedHits]]:
        """The hits of the phrases from ``start`` on, batch by batch: each reads a segment once."""
        size = _FIRST
        while start < len(self._phrases):
            batch = self._phrases[start : start + size]
            mined, hits = self._mined(batch, self.names[start : start + size])
            yield mined
            start += len(batch)
            size = min(2 * size, _MOST) if hits <= _HITS // 2 else max(size // 2, 1) if hits > _HITS else size

    def _mined(self, batch: Sequence[AnyEncoded], names: Sequence[str]) -> tuple[list[MinedHits], int]:
        first, limit = batch[0].prepared, self.request.limit
        queries, terms = [each.query for each in batch], [each.prepared.terms for each in batch]
        found = literal.search(self._snapshot, first.mode, queries, terms, first.selection, exhaustive=True)
        mined = [
            MinedHits(
                name,
                chain.from_iterable(self._search.pages(each, results, limit, _PAGE)),
                len(results) <= limit,
            )
            for name, each, results in zip(names, batch, found, strict=True)
        ]
        return mined, sum(map(len, found))


class MiningService:
    """Mines the collections of one store."""

    def __init__(self, store: Store, search: SearchService) -> None:
        self._store, self._search = store, search

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.get(SearchService))

    def check(self, request: MiningRequest) -> None:
        """Raise what :meth:`mine` would, as far as nothing needs to be encoded for it."""
        _, _, tuning = self._opened(request)
        _require_threshold(used_threshold(request.searches()[0], tuning))

    def mine(self, request: MiningRequest) -> Mining:
        """Prepare and encode the phrases of a request.

        Raises ``InvalidInput`` for names that are not unique, for an option that the mode does not accept, without a
        threshold, and for a phrase that cannot be encoded.
        """
        started = time.perf_counter()
        snapshot, mode, tuning = self._opened(request)
        phrases: list[AnyEncoded] = []
        for searches in checked(_batches(request.searches())):
            with _located(len(phrases)) as prepared:
                for search in searches:
                    prepared.append(plan_of(search, snapshot, mode, tuning, started))
            _require_threshold(prepared[0].threshold)
            phrases += encode(prepared)
        return Mining(request, snapshot, phrases, self._search)

    def _opened(self, request: MiningRequest) -> tuple[Snapshot, AnyMode, Tuning]:
        """The snapshot, the mode and the tuning of a request."""
        _check_names(request)
        if request.threshold == "auto":
            raise InvalidInput(
                "Phrases are mined above a number, not above auto.",
                hint="A search with the threshold auto answers the number on raw that it stands for.",
                field="threshold",
            )
        snapshot = self._store.snapshot(request.collection)
        check_fields(snapshot, request.filter)
        mode = available_mode(self._search.modes, request.mode, request.collection, snapshot.recipe)
        keys = (("count_by", field) for field in _counted_fields(request).values())
        check_keys(mode, snapshot, keys, request.filter)
        return snapshot, mode, self._store.tunings.present(snapshot.collection, request.mode)


def _batches(searches: list[SearchRequest]) -> Iterator[list[SearchRequest]]:
    for begin in range(0, len(searches), _ENCODED):
        yield searches[begin : begin + _ENCODED]


@contextmanager
def _located(begin: int) -> Iterator[list[AnyPrepared]]:
    """A list to fill; an error that names the text names the phrase, the first one that is not in the list."""
    prepared: list[AnyPrepared] = []
    try:
        yield prepared
    except InvalidInput as error:
        if error.field == "text":
            error.field = f"phrases[{begin + len(prepared)}].text"
        raise


def _counted_fields(request: MiningRequest) -> dict[str, Field]:
    """The fields that hits are counted by, with their spellings. Raises ``InvalidInput``."""
    return {key: field_of(key, "count_by") for key in request.count_by}


def _check_names(request: MiningRequest) -> None:
    seen: set[str] = set()
    for number, phrase in enumerate(request.phrases):
        if phrase.label in seen:
            raise InvalidInput(
                f"Two phrases have the name {phrase.label[:80]!r}.",
                hint="Name each differently, or leave one out.",
                field=f"phrases[{number}]",
            )
        seen.add(phrase.label)


def _require_threshold(threshold: UsedThreshold) -> None:
    if threshold.value is None:
        raise InvalidInput(
            "All spans of the collection would be hits: there is no threshold.",
            hint="Give one, or set the collection's.",
            field="threshold",
        )
