"""Saved phrases and documents brought together: when documents arrive, and once for those that were there before.

A segment is matched before it is published and its matches are published with it, so that a crash leaves both or
neither. The phrases may be changed meanwhile; then publishing is refused, and what has changed is matched again.
"""

from collections.abc import Collection as Some
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from indexer.catalog.leases import Lease
from indexer.catalog.matches import StalePhrases, replace_matches
from indexer.catalog.publish import publish
from indexer.engine.multi_query import find_over
from indexer.engine.selection import ExactSpans, scored
from indexer.engine.snapshot import SegmentView, open_segment, open_snapshot
from indexer.errors import PhraseNotFound
from indexer.phrases import Match, Matches, PhraseSet
from indexer.store import Store
from indexer.types import DocumentRow, SegmentInfo
from models.ops.similarity import raws


@dataclass(frozen=True, slots=True)
class Rematched:
    """How many matches were added, and how many withdrawn, when phrases were matched once more."""

    added: int
    withdrawn: int


def match(view: SegmentView, phrases: PhraseSet) -> list[Match]:
    """What phrases find in a segment, in the order of its texts: what searches with their thresholds would find."""
    return _presented(_found(view, phrases))


def publish_matched(store: Store, held: Lease, segment: SegmentInfo, rows: Sequence[DocumentRow]) -> int:
    """Publish a new segment together with what the collection's phrases find in it; returns the generation."""
    matcher = _Matcher(store, held, segment, rows)
    while True:
        try:
            return publish(store.catalog, held, segment, rows, matched=matcher.matches())
        except StalePhrases:
            continue


def rematch(store: Store, held: Lease, names: Some[str]) -> Rematched:
    """Make the standing matches of phrases what searches would find now, in all documents that there are.

    What stands already keeps the score of its time. Raises ``PhraseNotFound``.
    """
    collection = store.catalog.collection(held.collection)
    while True:
        phrases = _named(store.phrases.present(collection.id), held.collection, names)
        # Nobody publishes while the lease is held: this is the generation that the matches are kept in.
        snapshot = open_snapshot(store.folder(collection), collection.recipe, store.catalog.live(held.collection))
        found = tuple(each for view in snapshot.views for each in match(view, phrases))
        try:
            kept = Matches(phrases.version, phrases.tuning.calibration_id, found)
            return Rematched(*replace_matches(store.catalog, held, phrases.names, kept))
        except StalePhrases:
            continue


@dataclass(frozen=True, slots=True)
class _Found:
    """A span that a phrase found, as a row of spans; ``start`` is the unit of the segment that it starts at."""

    start: int
    phrase: str
    spans: ExactSpans
    row: int
    score: float
    raw: float

    def match(self) -> Match:
        """The same with its text."""
        span = scored(self.spans, self.row)
        text = span.place.text(span.span)
        return Match(self.phrase, span.document_id, span.span, text, self.score, self.raw)


class _Matcher:
    """Matches one segment; what it has matched it does not match again, unless the phrase or the tuning changes."""

    def __init__(self, store: Store, held: Lease, segment: SegmentInfo, rows: Sequence[DocumentRow]) -> None:
        self._store = store
        self._collection_id = held.collection_id
        self._path = store.folder(store.catalog.collection(held.collection)) / segment.name
        self._manifest_sha256 = segment.manifest_sha256
        last = {row.document_id: row.ordinal for row in rows}
        self._superseded = [row.ordinal for row in rows if last[row.document_id] != row.ordinal]
        self._phrases: PhraseSet | None = None
        self._found: list[_Found] = []

    def matches(self) -> Matches:
        """What the present phrases find."""
        phrases, before = self._store.phrases.present(self._collection_id), self._phrases
        matched = _revisions(before) if before and before.tuning.is_that_of(phrases.tuning) else {}
        stays = {name for name, revision in _revisions(phrases).items() if matched.get(name) == revision}
        self._found = [each for each in self._found if each.phrase in stays]
        if len(stays) < len(phrases):
            others = [row for row, name in enumerate(phrases.names) if name not in stays]
            self._found += _found(self._view(), phrases.take(others) if stays else phrases)
        self._phrases = phrases
        return Matches(phrases.version, phrases.tuning.calibration_id, tuple(_presented(self._found)))

    def _view(self) -> SegmentView:
        superseded = np.array(self._superseded, np.int64)
        return SegmentView(open_segment(self._path, self._manifest_sha256), superseded)


def _revisions(phrases: PhraseSet) -> dict[str, int]:
    return dict(zip(phrases.names, phrases.changed_in, strict=True))


def _found(view: SegmentView, phrases: PhraseSet) -> Iterator[_Found]:
    """What reaches the phrases' thresholds, judged by what is shown."""
    for number, spans in find_over(view, phrases.queries, phrases.cosine_floors, phrases.filters):
        raw = raws(spans.cosines)
        score = phrases.tuning.scores(raw)
        shown = raw if phrases.on_raw[number] else score
        for row in np.flatnonzero(shown >= phrases.values[number]).tolist():
            yield _Found(int(spans.starts[row]), phrases.names[number], spans, row, float(score[row]), float(raw[row]))


def _presented(found: Iterable[_Found]) -> list[Match]:
    # In the order of the texts, so that each block of them is unpacked once.
    return [each.match() for each in sorted(found, key=lambda each: (each.start, each.phrase))]


def _named(phrases: PhraseSet, collection: str, names: Some[str]) -> PhraseSet:
    missing = sorted(set(names) - set(phrases.names))
    if missing:
        raise PhraseNotFound(
            f"The collection {collection} has no phrase {missing[0]!r}.",
            hint="List the phrases of the collection.",
            field="phrase",
        )
    wanted = set(names)
    return phrases.take([row for row, name in enumerate(phrases.names) if name in wanted])
