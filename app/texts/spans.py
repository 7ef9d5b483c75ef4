"""The best spans of texts, without an index: encode the texts, search each alone, and forget them.

A text becomes a segment in memory, and a search reads it as it reads a collection: the same kernels, scores and
presentation. Its vectors are quantised as in a collection, so that a score here equals the score of the indexed text.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from heapq import nsmallest
from itertools import islice
from typing import Any, Final, Self

import numpy as np

from app.encoders.default_calibrations import default_tuning
from app.encoders.encoders import Encoders
from app.requests import SearchRequest, SpanChoice, with_verification
from app.search.answers import Hit, Verified
from app.search.mode import Mode, load_modes
from app.search.request_plan import AnyEncoded, AnyPrepared, plan_of
from app.search.service import encode, finish, scan
from app.search.span_queries import SpanQuery
from app.search.verification.marking import marked_places
from app.search.verification.ordering import Ordered, Verification, order_of, summary_of, with_verdict
from app.search.verification.stage import HitVerifier, Results, clauses_of
from app.services import Services
from app.texts.requests import MAX_PHRASES, SpansRequest
from app.texts.span_answers import SpansAnswer, TextHit, TextSpans, check_size
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.indexing.text_segments import segments_in_memory
from indexer.kernels import on_one_thread
from indexer.types import Generation, Recipe
from indexer.words.recipe import with_words
from models.errors import InvalidInput, SpanseekError
from models.fields import converted
from models.types import Document, SpanBounds
from models.verifier.types import Pair

# Characters of texts that are encoded together; a longer text is alone.
_SLICE = 16_000
# Fields of a hit that depend on which of its units are marked.
_OF_PLACE: Final = ("start", "end", "text", "context", "part_metadata", "polarity")
_ALL_LIVE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Phrases:
    """The encoded phrases of a request, each the query of a search, and the recipe of the texts.

    ``verification`` is that of every phrase.
    """

    queries: tuple[AnyEncoded, ...]
    recipe: Recipe
    started: float
    verification: Verification


@dataclass(frozen=True, slots=True)
class Slice:
    """Some texts of a request, and the number of the first of them."""

    first: int
    texts: Sequence[Document]


@dataclass(frozen=True, slots=True)
class FoundSpans:
    """The best spans of one text, and each as a result of the search for its phrase.

    ``cut`` are the phrases that have more spans in it than were asked for.
    """

    id: str
    hits: list[TextHit]
    results: list[Results]
    cut: frozenset[int]

    @property
    def pairs(self) -> list[Pair]:
        """Each with its phrase, as the verifier reads them."""
        return [clauses_of(each, each.query)[0].pair for each in self.results]


@dataclass(frozen=True, slots=True)
class Searched:
    """The work of one step: the number of characters that were encoded, and the texts that were searched."""

    characters: int
    texts: Sequence[FoundSpans]


def slices(texts: Iterable[Document]) -> Iterator[Slice]:
    """The texts, in order, in slices to be encoded together.

    >>> from models.types import Part
    >>> texts = [Document("a", (Part("x" * size),)) for size in (9_000, 7_000, 1, 20_000)]
    >>> [(each.first, len(each.texts)) for each in slices(texts)]
    [(0, 2), (2, 1), (3, 1)]
    """
    first = characters = 0
    waiting: list[Document] = []
    for text in texts:
        characters += len(text.text)
        if waiting and characters > _SLICE:
            yield Slice(first, waiting)
            first, waiting, characters = first + len(waiting), [], len(text.text)
        waiting.append(text)
    if waiting:
        yield Slice(first, waiting)


class SpanService:
    """Finds spans of texts by one encoder, whose default calibration makes the scores. Needs no store.

    ``mode`` searches the segments; its hits are spans.
    """

    def __init__(self, encoders: Encoders, encoder: str, mode: Mode[Any, SpanQuery]) -> None:
        self._encoders = encoders
        self._encoder = encoder
        self._mode = mode
        self._verifier = HitVerifier(lambda recipe: encoders.verifier(recipe), mode)

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls.by(services.encoders, services.settings.encoder)

    @classmethod
    def by(cls, encoders: Encoders, encoder: str) -> Self:
        """Make it without a store. It scans, whatever executor reads collections."""
        return cls(encoders, encoder, load_modes(encoders)["best_span"])

    def find(self, request: SpansRequest) -> SpansAnswer:
        """The best spans of every text.

        Raises ``TooMuchText``, and ``InvalidInput`` for a phrase, a text or bounds that cannot be searched.
        """
        check_size(request.texts)
        phrases = self.encode(request)
        steps = (step for part in slices(request.texts) for step in self.search(phrases, part))
        return self.answer(phrases, [text for step in steps for text in step.texts])

    def encode(self, request: SpansRequest) -> Phrases:
        """Validate the request, but for its texts, and encode its phrases."""
        started = time.perf_counter()
        if not 1 <= len(request.phrases) <= MAX_PHRASES:
            raise InvalidInput(
                f"There are {len(request.phrases)} phrases; one request has 1 to {MAX_PHRASES}.",
                hint="Send them in several requests.",
                field="phrases",
            )
        encoder = self._encoders.load(self._encoder)
        recipe = with_words(Recipe(self._encoder, encoder.fingerprint, encoder.dim, _bounds(request.spans)))
        prepared = [self._prepare(request, number, recipe, started) for number in range(len(request.phrases))]
        looked_at = with_verification(converted(request, SearchRequest, collection="", text=request.phrases[0]))
        count = self._verifier.count(looked_at, self._mode, recipe)
        verification = Verification.of(count, looked_at, prepared[0].threshold)
        return Phrases(tuple(encode(prepared)), recipe, started, verification)

    def search(self, phrases: Phrases, part: Slice) -> Iterator[Searched]:
        """The best spans of some texts, in steps of about a second, between which other work may come."""
        encoder = self._encoders.matching(phrases.recipe)
        documents = iter(part.texts)
        for step in segments_in_memory(encoder, part.texts, phrases.recipe, part.first):
            with on_one_thread():
                texts = [
                    FoundSpans(next(documents).id, *_hits(phrases, SegmentView(segment, _ALL_LIVE)))
                    for segment in step.segments
                ]
            yield Searched(step.characters, texts)

    def answer(self, phrases: Phrases, results: Sequence[FoundSpans]) -> SpansAnswer:
        """The answer with the results of all texts, of which the best hits are verified."""
        verified = self._verify(phrases, results) if phrases.verification.count else None
        texts = tuple(TextSpans(text.id, _kept(phrases, text.hits)) for text in results)
        took_ms = round((time.perf_counter() - phrases.started) * 1000, 3)
        return SpansAnswer(texts, phrases.queries[0].prepared.threshold, took_ms, verified)

    def _verify(self, phrases: Phrases, results: Sequence[FoundSpans]) -> tuple[Verified, ...]:
        """Verify the best hits of every phrase."""
        numbers = range(len(phrases.queries))
        found = [list(_hits_of(results, phrase)) for phrase in numbers]
        best = [nsmallest(phrases.verification.count, hits, key=_raw_first) for hits in found]
        read = [hit for hits in best for hit in hits]
        verdicts = [verdict for (verdict,) in self._verifier.verdicts([text.results[number] for text, number in read])]
        unit = phrases.queries[0].prepared.request.offset_unit
        for (text, number), verdict in zip(read, verdicts, strict=True):
            text.hits[number] = with_verdict(_marked(phrases, text, number), verdict, unit)
        said = iter(verdicts)
        there = [len(found[phrase]) + any(phrase in text.cut for text in results) for phrase in numbers]
        return tuple(summary_of(list(islice(said, len(hits))), all_) for hits, all_ in zip(best, there, strict=True))

    def _prepare(self, request: SpansRequest, number: int, recipe: Recipe, started: float) -> AnyPrepared:
        """The search for one phrase; the texts to search follow."""
        tuning = default_tuning(self._encoders, recipe)
        query, empty = _query(request, request.phrases[number]), Snapshot(Generation(0, (), recipe), ())
        try:
            return plan_of(query, empty, self._mode, tuning, started, self._verifier)
        except SpanseekError as error:
            if error.field != "text":
                raise
            located = copy(error)
            located.field = f"phrases[{number}]"
            raise located from error


def _bounds(spans: SpanChoice) -> SpanBounds:
    """The bounds of the spans to index: the request's, else the bounds of a new collection."""
    if spans.boundary:
        return SpanBounds()
    shortest = SpanBounds().shortest if spans.min_units is None else spans.min_units
    longest = max(shortest, SpanBounds().longest) if spans.max_units is None else spans.max_units
    try:
        return SpanBounds(shortest, longest)
    except ValueError:
        raise InvalidInput(
            f"Spans of texts cannot have {shortest} to {longest} units.",
            hint="Choose 1 <= min_units <= max_units <= 64, or whole clauses, sentences or parts, which may be longer.",
            field="spans",
        ) from None


def _query(request: SpansRequest, phrase: str) -> SearchRequest:
    # Verification comes at the end, when the best hits of all texts are known.
    return converted(request, SearchRequest, collection="", text=phrase, top_k=request.limit, verify=0, likely=False)


def _hits_of(results: Sequence[FoundSpans], phrase: int) -> Iterator[tuple[FoundSpans, int]]:
    """The hits of one phrase in all texts: the text and the number of each."""
    return ((text, number) for text in results for number, hit in enumerate(text.hits) if hit.phrase == phrase)


def _raw_first(hit: tuple[FoundSpans, int]) -> float:
    text, number = hit
    return -text.hits[number].raw


def _marked(phrases: Phrases, text: FoundSpans, number: int) -> TextHit:
    """A hit as it is shown after verification: what is marked is fitted to its clause."""
    hit, of = text.hits[number], text.results[number]
    rows = [each.rows[0] for each, other in zip(text.results, text.hits, strict=True) if other.phrase == hit.phrase]
    (place,) = marked_places(of.request, of.mode, of.snapshot, of.rows[:1], rows)
    if place is None:
        return hit
    prepared = phrases.queries[hit.phrase].prepared
    scored = replace(of.snapshot.scored(of.rows[0]), shown=place)
    (shown,) = of.mode.presented.present(of.request, of.query, [scored], prepared.tuning, None)
    return replace(hit, **{name: getattr(shown, name) for name in _OF_PLACE})


def _hits(phrases: Phrases, view: SegmentView) -> tuple[list[TextHit], list[Results], frozenset[int]]:
    """The hits of all phrases in one text, best first, each as a result of its search, and the phrases with more."""
    if not view.segment.manifest.units:
        return [], [], frozenset()
    snapshot = Snapshot(Generation(0, (), phrases.recipe), (view,))
    queries = [replace(query, prepared=replace(query.prepared, snapshot=snapshot)) for query in phrases.queries]
    found: list[tuple[TextHit, Results]] = []
    cut = set()
    for number, (query, results) in enumerate(zip(queries, scan(queries), strict=True)):
        hits, prepared = finish(query, Ordered(results)).hits, query.prepared
        if len(hits) == prepared.request.top_k < len(results.rows):
            cut.add(number)
        for hit, row in zip(hits, results.rows, strict=False):
            of = Results(prepared.request, prepared.mode, snapshot, query.query, [row])
            found.append((_of_phrase(hit, number), of))
    # Stable: hits of one phrase stay in the order of their search.
    found.sort(key=lambda each: -each[0].raw)
    return [hit for hit, _ in found], [of for _, of in found], frozenset(cut)


def _kept(phrases: Phrases, hits: Sequence[TextHit]) -> tuple[TextHit, ...]:
    """The hits of a text that are kept, in their order, those of one phrase numbered from 1."""
    ranks = defaultdict[int, int](int)
    kept = []
    for hit in sorted(hits, key=order_of):
        if hit.verdict in phrases.verification.kept:
            ranks[hit.phrase] += 1
            kept.append(replace(hit, rank=ranks[hit.phrase]))
    return tuple(kept)


def _of_phrase(hit: Hit, phrase: int) -> TextHit:
    return TextHit(**{field.name: getattr(hit, field.name) for field in fields(Hit)}, phrase=phrase)
