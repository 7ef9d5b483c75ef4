"""Match saved phrases with new documents, and on request with all documents.

A segment is matched before it is published, and its matches are published with it, so that a crash leaves both or
neither. If the phrases change meanwhile, publishing is refused and the changed phrases are matched again.
"""

from collections import abc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated

import numpy as np
from pydantic import Field

from indexer.catalog.leases import Lease
from indexer.catalog.matches import StalePhrases, replace_matches
from indexer.catalog.phrases import get_phrase
from indexer.catalog.publish import publish
from indexer.engine.executor import SegmentQuery
from indexer.engine.multi_query import spans_over_floors
from indexer.engine.place import Place
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import open_snapshot
from indexer.engine.views import SegmentView
from indexer.errors import PhrasePaused
from indexer.indexing.judged_matches import judgements
from indexer.phrases import Match, Matches, PhraseSet
from indexer.segments.reader import Segment
from indexer.store import Store
from indexer.types import DocumentRow, SegmentInfo
from indexer.words.literal import spans_with_floor
from models.ops.similarity import raws
from models.types import UnitSpan
from models.verifier.types import Judgement


@dataclass(frozen=True, slots=True)
class Rematched:
    """The changes of a backfill."""

    added: Annotated[int, Field(description="Added matches.")]
    withdrawn: Annotated[int, Field(description="Matches that no longer reach the threshold.")]


def match(store: Store, view: SegmentView, phrases: PhraseSet) -> list[Match]:
    """Match phrases with a segment: return the hits of searches with their thresholds, in the order of its texts.

    The verifier judges them. A phrase with ``likely_only`` drops the hits that are judged unlikely.
    """
    return _read_texts(view.segment, _judged(store, view, phrases, list(_hits(view, phrases))))


def publish_matched(store: Store, held: Lease, segment: SegmentInfo, rows: Sequence[DocumentRow]) -> int:
    """Publish a new segment together with its matches; returns the generation."""
    matcher = _Matcher(store, held, segment, rows)
    while True:
        try:
            return publish(store.catalog, held, segment, rows, matched=matcher.matches())
        except StalePhrases:
            continue


def rematch(store: Store, held: Lease, names: abc.Collection[str]) -> Rematched:
    """Match phrases with all documents again, and add and withdraw matches accordingly.

    Matches that remain keep their score. Raises ``PhraseNotFound`` and ``PhrasePaused``.
    """
    while True:
        phrases = _select(store, held, names)
        # Nothing is published while the lease is held, so that the matches are stored in this generation.
        live = store.catalog.live_generation(held.collection)
        snapshot = open_snapshot(store.segments, live, store.executor)
        snapshot.require_complete()
        parts = zip(snapshot.names, snapshot.map(_Matching(phrases)).parts, strict=True)
        found = chain.from_iterable(
            _read_texts(snapshot.segment(name), _judged(store, snapshot.view(name), phrases, hits))
            for name, hits in parts
        )
        matches = Matches(phrases.version, phrases.tuning.calibration_id, tuple(found))
        try:
            return Rematched(*replace_matches(store.catalog, held, phrases.names, matches))
        except StalePhrases:
            continue


@dataclass(frozen=True, slots=True)
class _Matching(SegmentQuery[None, "list[_Hit]"]):
    """The spans of every segment that reach a phrase's threshold."""

    phrases: PhraseSet

    def rows(self, view: SegmentView, total: None, selection: Selection) -> "list[_Hit]":
        """Return the spans of one segment that reach a phrase's threshold."""
        return list(_hits(view, self.phrases))


@dataclass(frozen=True, slots=True)
class _Hit:
    """A span that reaches a phrase's threshold."""

    span: SpanRow
    phrase: str
    tags: tuple[str, ...]
    score: float
    raw: float
    judgement: Judgement | None = None

    def match(self, segment: Segment) -> Match:
        """Create the match with its text. The text is empty if segments store none: the catalog must not either."""
        place = Place.at(segment, UnitSpan(self.span.start, self.span.end))
        text = place.stored_text()
        said = self.judgement
        probability, verdict = (None, None) if said is None else (said.probability, said.verdict)
        return Match(
            self.phrase, place.document_id, place.span, text, self.score, self.raw, self.tags, probability, verdict
        )


class _Matcher:
    """Matches one segment. Results are kept as long as neither the phrase nor the tuning changes."""

    def __init__(self, store: Store, held: Lease, segment: SegmentInfo, rows: Sequence[DocumentRow]) -> None:
        self._store = store
        self._collection_id = held.collection_id
        self._segment = segment
        last = {row.document_id: row.ordinal for row in rows}
        self._superseded = [row.ordinal for row in rows if last[row.document_id] != row.ordinal]
        self._phrases: PhraseSet | None = None
        self._hits: list[_Hit] = []

    def matches(self) -> Matches:
        """The matches of the current phrases."""
        phrases, previous = self._store.phrases.present(self._collection_id), self._phrases
        revisions = _revisions(previous) if previous and previous.tuning.same_as(phrases.tuning) else {}
        if not len(phrases):  # the segment is not opened, which may mean to fetch it
            self._phrases, self._hits = phrases, []
            return Matches(phrases.version, phrases.tuning.calibration_id, ())
        view = self._view()
        unchanged = {name for name, revision in _revisions(phrases).items() if revisions.get(name) == revision}
        self._hits = [hit for hit in self._hits if hit.phrase in unchanged]
        if len(unchanged) < len(phrases):
            rows = [row for row, name in enumerate(phrases.names) if name not in unchanged]
            selected = phrases.take(rows) if unchanged else phrases
            self._hits += _judged(self._store, view, selected, list(_hits(view, selected)))
        self._phrases = phrases
        return Matches(phrases.version, phrases.tuning.calibration_id, tuple(_read_texts(view.segment, self._hits)))

    def _view(self) -> SegmentView:
        superseded = np.array(self._superseded, np.int64)
        return SegmentView(self._store.segments.open(self._collection_id, self._segment), superseded)


def _revisions(phrases: PhraseSet) -> dict[str, int]:
    return dict(zip(phrases.names, phrases.changed_in, strict=True))


def _hits(view: SegmentView, phrases: PhraseSet) -> Iterator[_Hit]:
    """The spans whose presented score or raw reaches the threshold of a phrase."""
    floors, filters = phrases.cosine_floors, phrases.filters
    reaching = spans_over_floors(view, phrases.queries, floors, filters)
    if phrases.terms is not None:
        reaching = spans_with_floor(view, reaching, phrases.terms, floors, filters)
    for number, spans in reaching:
        raw = raws(spans.cosines)
        score = phrases.tuning.scores(raw)
        values = raw if phrases.on_raw[number] else score
        for row in np.flatnonzero(values >= phrases.values[number]).tolist():
            tags = () if phrases.tags is None else phrases.tags[number]
            yield _Hit(spans.row(row), phrases.names[number], tags, float(score[row]), float(raw[row]))


def _judged(store: Store, view: SegmentView, phrases: PhraseSet, hits: Sequence[_Hit]) -> list[_Hit]:
    """The hits with their judgements, without the unlikely hits of phrases with ``likely_only``."""
    numbers = {name: number for number, name in enumerate(phrases.names)}
    found = [(numbers[hit.phrase], hit.span) for hit in hits]
    said = judgements(store, view, phrases, found)
    return [
        replace(hit, judgement=judgement)
        for hit, (number, _), judgement in zip(hits, found, said, strict=True)
        if judgement is None or judgement.is_likely or not phrases.likely_only[number]
    ]


def _read_texts(segment: Segment, hits: Iterable[_Hit]) -> list[Match]:
    # In the order of the texts, so that each block of them is unpacked once.
    return [hit.match(segment) for hit in sorted(hits, key=lambda hit: (hit.span.start, hit.phrase))]


def _select(store: Store, held: Lease, names: abc.Collection[str]) -> PhraseSet:
    phrases, selected = store.phrases.present(held.collection_id), set(names)
    for name in sorted(selected - set(phrases.names)):
        get_phrase(store.catalog, held.collection, name)  # raises where there is none
        raise PhrasePaused(
            f"The phrase {name!r} is paused: it is not matched.", hint="Let it go on first.", field="phrase"
        )
    return phrases.take([row for row, name in enumerate(phrases.names) if name in selected])
