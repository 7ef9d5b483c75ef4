"""A search from request to answer, in the order in which it happens.

``prepare`` checks the request against the collection and tokenizes it, ``encode`` computes query vectors, ``scan``
reads the snapshot and applies the literal floor, ``verify`` reads the best hits beside the phrase, ``finish`` reads
texts. ``encode``, ``scan`` and ``verify`` take many requests at once, because many cost little more than one. The
differences between modes are in :class:`app.search.mode.SearchMode`.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from app.requests import MAX_EXPORT, SearchRequest
from app.search import literal
from app.search.aggregation.stage import Plan, arranged, plan_of
from app.search.answers import Filtered, Hit, LikelyMatches, SearchAnswer, Total, UsedThreshold
from app.search.literal import Found
from app.search.mode import AnyMode, Counts, Modes, ScoredRows, available_mode
from app.search.paging import Start, check_list, cursor_of, start_of
from app.search.reading import check_accepted, notice_of
from app.search.threshold import cosine_floor, no_number, reaching, used_threshold
from app.search.verification import stage as verifying
from app.search.verification.estimating import Estimate, likely_matches
from app.search.verification.marking import marked_places
from app.search.verification.stage import Ordered, Results, SecondLook, VerifierOf, no_verifier
from indexer.engine.place import Place
from indexer.engine.query import EVERYTHING, Filter, Selection
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.errors import SegmentsUnreachable
from indexer.reading.document_rows import count_passing
from indexer.reading.filter_fields import check_fields
from indexer.store import Store
from indexer.tuning import Tuning, check_threshold
from indexer.types import Recipe
from indexer.words.literal import Terms
from models.errors import InvalidInput
from models.text.checks import unstorable
from models.verifier.types import Verdict

# Times that a search is answered again when segments were lost under it.
AGAIN: Final = 2

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked request with its mode, snapshot and tuning.

    ``query`` is the request as its mode has read it, ``terms`` its words whose occurrences rank first. The best
    ``verified`` hits take the second look. Hits from ``start`` on are shown, of the list that the ``plan`` makes.
    """

    request: SearchRequest
    mode: AnyMode
    snapshot: Snapshot
    tuning: Tuning
    threshold: UsedThreshold
    selection: Selection
    query: object
    terms: Terms
    started: float
    verified: int
    start: Start
    plan: Plan | None

    @property
    def kept(self) -> tuple[Verdict | None, ...]:
        """The verdicts of hits that are kept."""
        return verifying.kept_verdicts(self.request, self.threshold)

    def require_number(self) -> None:
        """Raise ``InvalidInput`` for a threshold that is not a number: it does not apply to hits that were not read."""
        if self.threshold.source == "auto" and self.threshold.value is None:
            raise no_number(self.mode.name)


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


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prepared request and its query as the mode has encoded it."""

    prepared: Prepared
    query: object


class SearchService:
    """Answers searches over the collections of one store. ``verifier`` gives that of a recipe, if it has one."""

    def __init__(self, store: Store, modes: Modes, verifier: VerifierOf = no_verifier) -> None:
        self.modes = modes
        self.second_look = SecondLook(verifier, modes.get("best_span"))
        self._store = store

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

    def prepare(self, request: SearchRequest, *, check_filter: bool = True) -> Prepared:
        """Open the collection's current snapshot and validate the request against it.

        A saved phrase's own filter may ask for keys that are still to come; it is not checked.
        """
        started = time.perf_counter()
        snapshot = self._store.snapshot(request.collection)
        start = start_of(request, snapshot.generation.collection_id)
        if start.generation is not None:
            snapshot = self._store.snapshot_of(request.collection, start.generation)
        if check_filter:
            check_fields(snapshot, request.filter)
        mode = available_mode(self.modes, request.mode, request.collection, snapshot.recipe)
        tuning = self._store.tunings.present(snapshot.collection, request.mode)  # not by an alias
        return prepare(request, mode, snapshot, tuning, started, self.second_look, start)

    def verify(self, searched: Sequence[tuple[Encoded, Found]]) -> list[Ordered]:
        """Read the best hits of every search beside its phrase, and order them by what they say."""
        return _batched(searched, lambda item: item[0].prepared.snapshot.recipe.encoder, self._verify_batch)

    def _verify_batch(self, batch: Sequence[tuple[Encoded, Found]]) -> list[Ordered]:
        read = (_read(encoded, found.rows[: encoded.prepared.verified]) for encoded, found in batch)
        verdicts = self.second_look.verdicts(list(read))
        pairs = zip(batch, verdicts, strict=True)
        return [verifying.ordered(found, of, encoded.prepared.kept) for (encoded, found), of in pairs]

    def count(self, encoded: Encoded, floor: float | None) -> Counts:
        """Count exactly and exhaustively what the request selects.

        Raises ``SegmentCorrupt`` if a segment is missing, and ``InvalidInput`` for a threshold that only verdicts know.
        """
        prepared = encoded.prepared
        prepared.snapshot.require_complete()
        prepared.require_number()
        selection = replace(prepared.selection, top_k=EVERYTHING, floor=None, group_by="span")
        return literal.count(prepared.snapshot, prepared.mode, encoded.query, prepared.terms, floor, selection)

    def counted(self, encoded: Encoded) -> Counted:
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
            estimate = likely_matches(self.second_look, _read(encoded, ()), prepared.terms)
        return Counted(total, estimate)

    def pages(self, encoded: Encoded, results: Found, limit: int, size: int) -> Iterator[tuple[Hit, ...]]:
        """The first ``limit`` hits of a request, ``size`` at a time: their texts are read one page after the other.

        A request for likely hits has every page judged, in the order of the first look.
        """
        begin = encoded.prepared.start.place
        last = min(begin + limit, len(results))
        for start in range(begin, last, size):
            end = min(start + size, last)
            rows = results.rows[start:end] if encoded.prepared.request.likely else []
            (verdicts,) = self.second_look.verdicts([_read(encoded, rows)])
            hits = presented(encoded, Ordered(results, verdicts, start), start, end)
            yield tuple(hit for hit in hits if hit.verdict in encoded.prepared.kept)

    def recipe(self, collection: str) -> tuple[str, Recipe]:
        """The own name of a collection, which an alias may name, and its recipe."""
        snapshot = self._store.snapshot(collection)
        return snapshot.collection, snapshot.recipe


def prepare(
    request: SearchRequest,
    mode: AnyMode,
    snapshot: Snapshot,
    tuning: Tuning,
    started: float,
    second_look: SecondLook | None = None,
    start: Start | None = None,
) -> Prepared:
    """Validate a request, and tokenize it."""
    start = start or Start(request.offset)
    if (request.text is None) == (request.vector is None):
        raise InvalidInput("Give either text or vector.", field="text")
    _refuse_unencodable(request)
    is_auto = request.threshold == "auto"
    if not is_auto:
        check_threshold(request.threshold)
    check_accepted(mode, request)
    loading = time.perf_counter()
    if request.text is not None:
        mode.load(snapshot.recipe)
    looking = second_look or SecondLook(no_verifier, None)
    verified = 0 if start.judged is False else looking.count(request, mode, snapshot.recipe)
    even = looking.even(request, mode, snapshot.recipe) if is_auto else None
    started += time.perf_counter() - loading  # not part of the answer's time
    query = mode.read(request, snapshot.recipe)
    tuning = tuning.made_for(mode.score_fingerprint(request, snapshot.recipe))
    used = used_threshold(request, tuning, even)
    check_list(start, request, used)
    plan = plan_of(request, mode, snapshot, used)
    floor = None if used.value is None else cosine_floor(used.value, used.on, tuning)
    selection = mode.selection(request, floor)
    # One more than is shown says whether there are more. Of threshold auto, unlikely ones among those read are dropped.
    shown = start.place + selection.top_k
    most = (shown + verified if is_auto else max(shown, verified)) if plan is None else plan.limit
    selection = replace(selection, top_k=most + 1)
    terms = literal.terms_of(mode, request, snapshot.recipe)
    return Prepared(request, mode, snapshot, tuning, used, selection, query, terms, started, verified, start, plan)


def encode(prepared: Sequence[Prepared]) -> list[Encoded]:
    """Encode queries; texts for the same encoder share a forward pass."""
    queries = _batched(prepared, _encoding_key, _encode_batch)
    return [Encoded(item, query) for item, query in zip(prepared, queries, strict=True)]


def scan(encoded: Sequence[Encoded]) -> list[Found]:
    """Search; requests for the same selection from the same snapshot share a pass over memory."""
    results = _batched(encoded, _scanning_key, _scan_batch)
    return [_arranged(item.prepared, found) for item, found in zip(encoded, results, strict=True)]


def _arranged(prepared: Prepared, found: Found) -> Found:
    if prepared.plan is None:
        return found
    return arranged(prepared.plan, prepared.snapshot, found, prepared.threshold, prepared.tuning)


def finish(encoded: Encoded, results: Ordered, counted: Counted = Counted()) -> SearchAnswer:
    """Read texts and metadata, and drop hits that are below the threshold after rounding."""
    prepared = encoded.prepared
    snapshot, used, request = prepared.snapshot, prepared.threshold, prepared.request
    begin = prepared.start.place
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
        results.found.arranged,
        results.found.counts,
        next_cursor(prepared, results),
    )


def next_cursor(prepared: Prepared, results: Ordered) -> str | None:
    """The cursor behind the hits of a request; None if there are no more, or they are too many."""
    place = prepared.start.place + prepared.request.top_k
    more = place < len(results.found)
    return cursor_at_place(prepared, place, judged=results.verified is not False) if more else None


def cursor_at_place(prepared: Prepared, place: int, *, judged: bool) -> str | None:
    """The cursor of a place in a list, which took the second look or went without it.

    None where none leads: so far, and for texts that came with the request, which have no pages.
    """
    generation = prepared.snapshot.generation
    if place >= MAX_EXPORT or not generation.collection_id:
        return None
    return cursor_of(prepared.request, generation, prepared.threshold, place, judged=judged)


def presented(encoded: Encoded, results: Ordered, start: int, end: int) -> tuple[Hit, ...]:
    """The hits of results from ``start`` to ``end``, less those that are below the threshold after rounding."""
    prepared, found = encoded.prepared, results.found
    rows = found.rows[start:end]
    copies = [None if found.copies is None else found.copies[row] for row in rows]
    shown = _marked(prepared, results, start, end)
    spans = [replace(literal.scored(prepared.snapshot, row, prepared.terms), shown=shown.get(row)) for row in rows]
    hits = prepared.mode.present(prepared.request, encoded.query, spans, prepared.tuning, found.total)
    marked = (
        verifying.told(
            replace(hit, rank=start + hit.rank, match="exact" if span.exact else None, copies=copies[at]),
            results.of(start + at),
            prepared.request.offset_unit,
        )
        for at, (hit, span) in enumerate(zip(hits, spans, strict=True))
    )
    used = prepared.threshold
    return tuple(hit for hit in marked if used.value is None or getattr(hit, used.on) >= used.value)


def _marked(prepared: Prepared, results: Ordered, start: int, end: int) -> dict[SpanRow, Place | None]:
    """The places that are shown of results that took the second look; None for those shown as they were found."""
    last = results.first + len(results.verdicts)
    judged, shown = (
        results.found.rows[results.first : last],
        results.found.rows[max(start, results.first) : min(end, last)],
    )
    places = marked_places(prepared.request, prepared.mode, prepared.snapshot, shown, judged)
    return dict(zip(shown, places, strict=True))


def _read(encoded: Encoded, rows: Sequence[SpanRow]) -> Results:
    """Results for the second look."""
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


def _encoding_key(prepared: Prepared) -> Hashable:
    recipe = prepared.snapshot.recipe
    return prepared.mode.name, recipe.encoder, prepared.mode.fingerprint(recipe)


def _encode_batch(batch: Sequence[Prepared]) -> list[object]:
    first = batch[0]
    return first.mode.encode([item.query for item in batch], first.snapshot.recipe)


def _scanning_key(encoded: Encoded) -> Hashable:
    prepared = encoded.prepared
    return prepared.mode.name, id(prepared.snapshot), prepared.selection.key, prepared.request.ranking


def _scan_batch(batch: Sequence[Encoded]) -> list[Found]:
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


def _refuse_unencodable(request: SearchRequest) -> None:
    filter = json.dumps([dict(request.filter.document), dict(request.filter.part)], ensure_ascii=False)
    for field, value in (("text", request.text or ""), ("filter", filter)):
        reason = unstorable(value, nul=True)
        if reason is not None:
            raise InvalidInput(f"The {field} holds {reason}.", hint="Send UTF-8.", field=field)
