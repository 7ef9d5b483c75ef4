"""A search from request to answer, in the order in which it happens.

``prepare`` plans the request over the collection, ``encode`` computes query vectors, ``scan``
reads the snapshot and applies the literal floor, ``verify`` reads the best hits beside the phrase, ``finish`` reads
texts. ``encode``, ``scan`` and ``verify`` take many requests at once, because many cost little more than one. The
differences between modes are in :class:`app.search.mode.Mode`.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Self, TypeVar

from app.requests import MAX_EXPORT, SearchRequest
from app.search import literal
from app.search.aggregation.stage import aggregated
from app.search.answers import Filtered, Hit, LikelyMatches, SearchAnswer, Total, UsedThreshold
from app.search.literal import RankedRows
from app.search.mode import Counts, Modes, Query, Read, ScoredRows, available_mode, load_modes
from app.search.paging import cursor_of, page_of
from app.search.reading import notice_of
from app.search.request_plan import AnyEncoded, AnyPrepared, Encoded, Prepared, plan_of
from app.search.threshold import reaching
from app.search.verification.estimating import Estimate, likely_matches
from app.search.verification.marking import marked_places
from app.search.verification.ordering import Ordered, ordered, with_verdict
from app.search.verification.stage import HitVerifier, Results, VerifierOf, no_verifier
from app.services import Services
from indexer.engine.place import Place
from indexer.engine.query import EVERYTHING, Filter
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.errors import SegmentsUnreachable
from indexer.reading.document_rows import count_passing
from indexer.reading.filter_fields import check_fields
from indexer.store import Store
from indexer.tuning import Tuning
from indexer.types import Recipe

# Times that a search is answered again when segments were lost under it.
AGAIN: Final = 2

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of a whole collection: all hits, and an estimate of the likely matches."""

    total: Total | None = None
    estimate: Estimate | None = None

    def likely(self, hits: Sequence[Hit]) -> LikelyMatches | None:
        """The likely matches beyond those that are shown."""
        if self.estimate is None:
            return None
        shown = {(hit.document_id, hit.clause) for hit in hits if hit.verdict == "match"}
        of = self.estimate
        return LikelyMatches(len(shown), of.number, (of.low, of.high))


class SearchService:
    """Answers searches over the collections of one store. ``verifier`` gives that of a recipe, if it has one."""

    def __init__(self, store: Store, modes: Modes, verifier: VerifierOf = no_verifier) -> None:
        self.modes = modes
        self.verifier = HitVerifier(verifier, modes.get("best_span"))
        self._store = store

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, load_modes(services.encoders), services.encoders.verifier)

    def search(self, *requests: SearchRequest) -> list[SearchAnswer]:
        """Answer requests together. Raises the error of the first request that cannot be answered.

        They are answered again, without the segments, where a cluster lost some meanwhile.
        """
        for _ in range(AGAIN):
            with suppress(SegmentsUnreachable):
                return self._search(requests)
        return self._search(requests)

    def _search(self, requests: Sequence[SearchRequest]) -> list[SearchAnswer]:
        encoded = encode([self.prepare(request) for request in requests])
        verified = self.verify(list(zip(encoded, scan(encoded), strict=True)))
        return [finish(item, results, self.counted(item)) for item, results in zip(encoded, verified, strict=True)]

    def prepare(self, request: SearchRequest, *, check_filter: bool = True) -> AnyPrepared:
        """Open the collection's current snapshot and validate the request against it.

        A saved phrase's own filter may ask for keys that are still to come; it is not checked.
        """
        started = time.perf_counter()
        snapshot = self._store.snapshot(request.collection)
        page = page_of(request, snapshot.generation.collection_id)
        if page.generation is not None:
            snapshot = self._store.snapshot_of(request.collection, page.generation)
        if check_filter:
            check_fields(snapshot, request.filter)
        mode = available_mode(self.modes, request.mode, request.collection, snapshot.recipe)
        tuning = self._store.tunings.present(snapshot.collection, request.mode)  # not by an alias
        return plan_of(request, snapshot, mode, tuning, started, self.verifier, page)

    def verify(self, searched: Sequence[tuple[AnyEncoded, RankedRows]]) -> list[Ordered]:
        """Read the best hits of every search beside its phrase, and order them by what they say."""
        return _batched(searched, lambda item: item[0].prepared.snapshot.recipe.encoder, self._verify_batch)

    def _verify_batch(self, batch: Sequence[tuple[AnyEncoded, RankedRows]]) -> list[Ordered]:
        read = (_read(encoded, found.rows[: encoded.prepared.verification.count]) for encoded, found in batch)
        verdicts = self.verifier.verdicts(list(read))
        pairs = zip(batch, verdicts, strict=True)
        return [ordered(found, of, encoded.prepared.verification.kept) for (encoded, found), of in pairs]

    def count(self, encoded: AnyEncoded, floor: float | None) -> Counts:
        """Count exactly and exhaustively what the request selects.

        Raises ``SegmentCorrupt`` if a segment is missing, and ``InvalidInput`` for a threshold that only verdicts know.
        """
        prepared = encoded.prepared
        prepared.snapshot.require_complete()
        prepared.require_number()
        selection = replace(prepared.selection, top_k=EVERYTHING, floor=None, group_by="span")
        return literal.count(prepared.snapshot, prepared.mode, encoded.query, prepared.terms, floor, selection)

    def counted(self, encoded: AnyEncoded) -> Counted:
        """The counts that a request asks for, of the whole collection: its hits exactly, likely matches by a sample.

        Raises ``SegmentCorrupt`` if a segment is missing.
        """
        prepared = encoded.prepared
        total = estimate = None
        if prepared.request.total:
            counts = self.count(encoded, prepared.selection.floor)
            total = total_of(counts, prepared.threshold, prepared.tuning)
        if prepared.request.estimate:
            prepared.snapshot.require_complete()
            estimate = likely_matches(self.verifier, _read(encoded, ()), prepared.terms)
        return Counted(total, estimate)

    def pages(self, encoded: AnyEncoded, results: RankedRows, limit: int, size: int) -> Iterator[tuple[Hit, ...]]:
        """The first ``limit`` hits of a request, ``size`` at a time: their texts are read one page after the other.

        A request for likely hits has every page judged, in the order of the search.
        """
        begin = encoded.prepared.page.place
        last = min(begin + limit, len(results))
        for start in range(begin, last, size):
            end = min(start + size, last)
            rows = results.rows[start:end] if encoded.prepared.request.likely else []
            (verdicts,) = self.verifier.verdicts([_read(encoded, rows)])
            hits = presented(encoded, Ordered(results, verdicts, start), start, end)
            yield tuple(hit for hit in hits if hit.verdict in encoded.prepared.verification.kept)

    def recipe(self, collection: str) -> tuple[str, Recipe]:
        """The own name of a collection, which an alias may name, and its recipe."""
        snapshot = self._store.snapshot(collection)
        return snapshot.collection, snapshot.recipe


def encode(prepared: Sequence[AnyPrepared]) -> list[AnyEncoded]:
    """Encode queries; texts for the same encoder share a forward pass."""
    queries = _batched(prepared, _encoding_key, _encode_batch)
    return [Encoded(item, query) for item, query in zip(prepared, queries, strict=True)]


def scan(encoded: Sequence[AnyEncoded]) -> list[RankedRows]:
    """Search; requests for the same selection from the same snapshot share a pass over memory."""
    results = _batched(encoded, _scanning_key, _scan_batch)
    return [_aggregated(item.prepared, found) for item, found in zip(encoded, results, strict=True)]


def _aggregated(prepared: AnyPrepared, found: RankedRows) -> RankedRows:
    if prepared.aggregation is None:
        return found
    return aggregated(prepared.aggregation, prepared.snapshot, found, prepared.threshold, prepared.tuning)


def finish(encoded: AnyEncoded, results: Ordered, counted: Counted = Counted()) -> SearchAnswer:
    """Read texts and metadata, and drop hits that are below the threshold after rounding."""
    prepared = encoded.prepared
    snapshot, used, request = prepared.snapshot, prepared.threshold, prepared.request
    begin = prepared.page.place
    hits = presented(encoded, results, begin, begin + request.top_k)
    took_ms = round((time.perf_counter() - prepared.started) * 1000, 3)
    return SearchAnswer(
        hits,
        snapshot.generation.number,
        used,
        took_ms,
        snapshot.damages,
        filtered(snapshot, request.filter),
        counted.total,
        results.verified,
        counted.likely(hits),
        notice_of(request.text),
        results.ranked.arranged,
        results.ranked.counts,
        next_cursor(prepared, results),
    )


def next_cursor(prepared: AnyPrepared, results: Ordered) -> str | None:
    """The cursor behind the hits of a request; None if there are no more, or they are too many."""
    place = prepared.page.place + prepared.request.top_k
    more = place < len(results.ranked)
    return cursor_at_place(prepared, place, judged=results.verified is not False) if more else None


def cursor_at_place(prepared: AnyPrepared, place: int, *, judged: bool) -> str | None:
    """The cursor of a place in a list, which is verified or not.

    None where none leads: so far, and for texts that came with the request, which have no pages.
    """
    generation = prepared.snapshot.generation
    if place >= MAX_EXPORT or not generation.collection_id:
        return None
    return cursor_of(prepared.request, generation, prepared.threshold, place, judged=judged)


def presented(encoded: AnyEncoded, results: Ordered, start: int, end: int) -> tuple[Hit, ...]:
    """The hits of results from ``start`` to ``end``, less those that are below the threshold after rounding."""
    prepared, found = encoded.prepared, results.ranked
    rows = found.rows[start:end]
    copies = [None if found.copies is None else found.copies[row] for row in rows]
    shown = _marked(prepared, results, start, end)
    spans = [replace(literal.scored(prepared.snapshot, row, prepared.terms), shown=shown.get(row)) for row in rows]
    placed = prepared.snapshot.texts.placed(spans)
    hits = prepared.mode.presented.present(prepared.request, encoded.query, placed, prepared.tuning, found.total)
    marked = (
        with_verdict(
            replace(hit, rank=start + hit.rank, match="exact" if span.exact else None, copies=copies[at]),
            results.of(start + at),
            prepared.request.offset_unit,
        )
        for at, (hit, span) in enumerate(zip(hits, spans, strict=True))
    )
    used = prepared.threshold
    return tuple(hit for hit in marked if used.value is None or getattr(hit, used.on) >= used.value)


def _marked(prepared: AnyPrepared, results: Ordered, start: int, end: int) -> dict[SpanRow, Place | None]:
    """The places that are shown of results that were read; None for those shown as they were found."""
    last = results.first + len(results.verdicts)
    judged, shown = (
        results.ranked.rows[results.first : last],
        results.ranked.rows[max(start, results.first) : min(end, last)],
    )
    places = marked_places(prepared.request, prepared.mode, prepared.snapshot, shown, judged)
    return dict(zip(shown, places, strict=True))


def _read(encoded: AnyEncoded, rows: Sequence[SpanRow]) -> Results:
    """Results to be read."""
    prepared = encoded.prepared
    return Results(prepared.request, prepared.mode, prepared.snapshot, encoded.query, rows)


def total_of(counts: Counts, used: UsedThreshold, tuning: Tuning) -> Total:
    """The numbers of counted results that reach a threshold, as hits would show them."""

    def number(rows: ScoredRows) -> int:
        return int(reaching(rows.cosines, used, tuning).sum())

    return Total(number(counts.documents), None if counts.spans is None else number(counts.spans))


def filtered(snapshot: Snapshot, filter: Filter) -> Filtered | None:
    """The number of documents that pass a filter; None for a filter that all pass."""
    if not filter.asks:
        return None
    counted = count_passing(snapshot, filter)
    return Filtered(counted.passing, counted.live, counted.unknown_keys)


def _encoding_key(prepared: AnyPrepared) -> Hashable:
    recipe = prepared.snapshot.recipe
    return prepared.mode.name, recipe.encoder, prepared.mode.fingerprint(recipe)


def _encode_batch(batch: Sequence[Prepared[Read, Query]]) -> list[Query]:
    first = batch[0]
    return first.mode.encode([item.query for item in batch], first.snapshot.recipe)


def _scanning_key(encoded: AnyEncoded) -> Hashable:
    prepared = encoded.prepared
    return prepared.mode.name, id(prepared.snapshot), prepared.selection.key, prepared.request.ranking


def _scan_batch(batch: Sequence[AnyEncoded]) -> list[RankedRows]:
    first, queries = batch[0].prepared, [item.query for item in batch]
    return literal.search(first.snapshot, first.mode, queries, [item.prepared.terms for item in batch], first.selection)


def _batched(
    items: Sequence[Item], key: Callable[[Item], Hashable], process: Callable[[Sequence[Item]], Sequence[Result]]
) -> list[Result]:
    """Process items with equal keys together, and return the results in the order of the items.

    >>> _batched(["b", "A", "a"], str.lower, lambda group: [(item, len(group)) for item in group])
    [('b', 1), ('A', 2), ('a', 2)]
    """
    numbers: dict[Hashable, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        numbers[key(item)].append(number)
    results: dict[int, Result] = {}
    for group in numbers.values():
        results |= dict(zip(group, process([items[number] for number in group]), strict=True))
    return [results[number] for number in range(len(items))]
