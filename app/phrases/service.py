"""Saved phrases and their matches, for every interface."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

import numpy as np

from app.cursors import check_limit, cursor_at, position_of
from app.encoders.encoders import Encoders
from app.phrases.answers import (
    Event,
    EventPage,
    ImportedPhrase,
    ImportedPhrases,
    MatchText,
    PhraseDescription,
    PhrasePage,
)
from app.phrases.parsing import Line, RefusedLine
from app.phrases.reach import events_in_reach
from app.services import Services
from indexer.catalog.leases import Lease, lease
from indexer.catalog.matches import find_match, read_events
from indexer.catalog.phrases import (
    change_phrase,
    delete_phrases,
    get_phrase,
    list_phrases,
    phrase_threshold_history,
    save_phrases,
    saved_vectors,
    set_phrase_threshold,
    undo_phrase_threshold,
)
from indexer.engine.located import Located, find_documents
from indexer.engine.query import Filter
from indexer.errors import MatchNotFound
from indexer.indexing.matching import rematch
from indexer.phrases import (
    ALL_EVENTS,
    EventCursor,
    EventFilter,
    EventRead,
    MatchEvent,
    Phrase,
    PhraseChanges,
    PhraseDraft,
    Saved,
)
from indexer.store import Store
from indexer.tuning import ThresholdChange, ThresholdOn
from indexer.types import Collection
from models.encoders.base import check_query, encode_all
from models.errors import InvalidInput
from models.fields import converted
from models.types import CharSpan, QueryVectors

if TYPE_CHECKING:
    from models.verifier.verifier import Verifier

MAX_EVENTS = 1000
# Reads of a match whose document changes meanwhile.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Followed:
    """Events, each with the cursor behind it; the cursor behind all; and the number of the last event that is read."""

    collection_id: str
    events: tuple[tuple[str, Event], ...]
    cursor: str
    last: int
    more: bool


class PhraseService:
    """The saved phrases of one store's collections. Raises ``CollectionNotFound`` and ``PhraseNotFound``.

    With ``backfill`` existing documents are matched, too, before the call returns; else only new ones.
    ``app.tasks.backfilling`` leaves long backfills to a task.
    """

    def __init__(self, store: Store, encoders: Encoders) -> None:
        self._store = store
        self._catalog = store.catalog
        self._encoders = encoders

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.encoders)

    def add(self, collection: str, draft: PhraseDraft, *, backfill: bool = False) -> Phrase:
        """Save a new phrase. Raises ``PhraseExists`` if the name is taken."""
        target = self._catalog.collection(collection)
        draft = self._settled(target, draft)
        collection, vectors = target.name, self._encode(target, [draft.text])
        with self._writing(collection, backfill) as held:
            save_phrases(self._catalog, collection, [draft], vectors, replace=False)
            if held and not draft.paused:
                rematch(self._store, held, [draft.name])
        return get_phrase(self._catalog, collection, draft.name)

    def put(self, collection: str, lines: Sequence[Line], *, backfill: bool = False) -> ImportedPhrases:
        """Save phrases; they replace phrases of the same names, and of valid ones with one name the last counts.

        Invalid lines, and texts that cannot be encoded, are reported; the others are saved.
        """
        target = self._catalog.collection(collection)
        collection = target.name
        lines = [self._readable(target, line) for line in lines]
        good = list({line.name: line for line in lines if isinstance(line, PhraseDraft)}.values())
        vectors = self._vectors(target, good)
        with self._writing(collection, backfill) as held:
            saved = save_phrases(self._catalog, collection, good, vectors)
            results = dict(zip([draft.name for draft in good], saved, strict=True))
            paused = {draft.name for draft in good if draft.paused}
            touched = [name for name, result in results.items() if result != "unchanged" and name not in paused]
            rematched = rematch(self._store, held, touched) if held else None
        return ImportedPhrases(tuple(_imported(line, results) for line in lines), rematched)

    def change(self, collection: str, name: str, changes: PhraseChanges) -> Phrase:
        """Change fields of a phrase. If its text, its filter or likely_only changes, its matches are withdrawn."""
        vectors = None
        target = self._catalog.collection(collection)
        if changes.likely_only:
            self._verifier(target)
        if changes.text is not None:
            collection, vectors = target.name, self._encode(target, [changes.text])
        return change_phrase(self._catalog, collection, name, changes, vectors)

    def delete(self, collection: str, names: Sequence[str]) -> frozenset[str]:
        """Delete phrases and withdraw their matches; returns the names of those that existed."""
        return delete_phrases(self._catalog, collection, names)

    def delete_one(self, collection: str, name: str) -> None:
        """Delete a phrase. Raises ``PhraseNotFound``."""
        if not self.delete(collection, [name]):
            get_phrase(self._catalog, collection, name)

    def get(self, collection: str, name: str) -> Phrase:
        """A phrase as it is now."""
        return get_phrase(self._catalog, collection, name)

    def list(self, collection: str, limit: int, cursor: str | None = None, tags: Sequence[str] = ()) -> PhrasePage:
        """At most ``limit`` phrases by name, after the cursor of the previous page; with ``tags`` those of any."""
        check_limit(limit)
        id = self._catalog.collection(collection).id
        (after,) = position_of(cursor, "phrases", id, ("",))
        phrases = list_phrases(self._catalog, collection, limit + 1, after, tags)
        more = len(phrases) > limit
        page = tuple(map(PhraseDescription.of, phrases[:limit]))
        return PhrasePage(page, cursor_at("phrases", id, page[-1].name) if more else None)

    def set_threshold(self, collection: str, name: str, value: float | None, on: ThresholdOn, note: str) -> Phrase:
        """Set a phrase's own threshold; None removes it, so that the collection's applies."""
        return set_phrase_threshold(self._catalog, collection, name, value, on, note)

    def undo_threshold(self, collection: str, name: str, note: str) -> Phrase:
        """Undo the last change; raises ``NothingToUndo`` if there is none."""
        return undo_phrase_threshold(self._catalog, collection, name, note)

    def threshold_history(self, collection: str, name: str) -> tuple[ThresholdChange, ...]:
        """All changes of a phrase's own threshold, the newest first."""
        return phrase_threshold_history(self._catalog, collection, name)

    def events(
        self,
        collection: str,
        limit: int,
        cursor: str | None = None,
        filter: EventFilter = ALL_EVENTS,
        reach: Filter = Filter(),
    ) -> EventPage:
        """The events after a cursor, in their order: each is read once, and none is skipped.

        ``reach`` leaves out those of documents that do not pass it.
        Raises ``CursorExpired`` for a cursor after which withdrawals have been deleted.
        """
        check_limit(limit, MAX_EVENTS)
        target = self._catalog.collection(collection)
        read = self._read(target, cursor, limit, filter, reach)
        events = tuple(Event.of(event, target) for event in read.events)
        return EventPage(events, cursor_text(read.cursor, target.id), read.more)

    def follow(
        self, collection: str, limit: int, cursor: str | None, filter: EventFilter, reach: Filter = Filter()
    ) -> "Followed":
        """As :meth:`events`, with a cursor behind each event."""
        target = self._catalog.collection(collection)
        read = self._read(target, cursor, limit, filter, reach)
        events = tuple((cursor_text(read.through(event), target.id), Event.of(event, target)) for event in read.events)
        return Followed(target.id, events, cursor_text(read.cursor, target.id), read.cursor.number, read.more)

    def match(self, collection: str, number: int, context: int, reach: Filter = Filter()) -> MatchText:
        """A match that stands, with up to ``context`` code points of text on each side of it.

        Raises ``MatchNotFound``, also for one of a document out of reach.
        """
        target = self._catalog.collection(collection)
        # Read again behind the snapshot: while the match stands, its document is the one that was matched.
        for _ in range(_TRIES):
            found = find_match(self._catalog, target.id, number)
            snapshot = self._store.present(target.name)
            located = find_documents(snapshot, [found.document_id], reach).get(found.document_id) if found else None
            if found is None or find_match(self._catalog, target.id, number) is None:
                break
            if located is not None:
                return _with_neighbours(found, located, target.name, context)
            if reach:
                break
            snapshot.require_complete()
        raise MatchNotFound(
            f"The collection {target.name} has no match {number}, or it was withdrawn.",
            hint="Read the events: a withdrawn match says why.",
            field="match",
        )

    def _read(
        self, target: Collection, cursor: str | None, limit: int, filter: EventFilter, reach: Filter
    ) -> EventRead:
        after = event_cursor(cursor, target.id)
        if reach:
            return events_in_reach(
                self._catalog, self._store.snapshot(target.name), target.id, after, limit, filter, reach
            )
        return read_events(self._catalog, target.id, after, limit, filter)

    def _writing(self, collection: str, backfill: bool) -> AbstractContextManager[Lease | None]:
        """The lease, which only a backfill needs. Without it nothing is saved either."""
        return lease(self._catalog, collection) if backfill else nullcontext()

    def _settled(self, target: Collection, draft: PhraseDraft) -> PhraseDraft:
        """The draft as it is saved: the threshold ``auto`` becomes what it stands for."""
        if draft.threshold != "auto":
            if draft.likely_only:
                self._verifier(target)
            return draft
        decision_point = self._verifier(target, "threshold").decision_point
        return replace(draft, threshold=decision_point, threshold_on="raw", likely_only=True)

    def _verifier(self, target: Collection, field: str = "likely_only") -> "Verifier":
        verifier = self._store.verifier(target.recipe)
        if verifier is None:
            instead = "Leave likely_only out" if field == "likely_only" else "Give a number"
            raise InvalidInput(
                "What is likely is said by the second look, which this collection does not have.",
                hint=f"{instead}, or use a collection that stores texts by the encoder slice.",
                field=field,
            )
        return verifier

    def _readable(self, target: Collection, line: Line) -> Line:
        """A draft that can be saved, or its error."""
        if isinstance(line, RefusedLine):
            return line
        try:
            check_query(self._encoders.matching(target.recipe), line.text, target.recipe.text)
            return self._settled(target, line)
        except InvalidInput as error:
            return RefusedLine(line.name, error)

    def _vectors(self, target: Collection, drafts: Sequence[PhraseDraft]) -> QueryVectors:
        """The vectors of phrases; texts that are saved already are not encoded again."""
        saved = dict(saved_vectors(self._catalog, target.name, [draft.name for draft in drafts]).values())
        new = [draft.text for draft in drafts if draft.text not in saved]
        vectors = saved | dict(zip(new, self._encode(target, new), strict=True))
        rows = [vectors[draft.text] for draft in drafts]
        return np.stack(rows) if rows else np.zeros((0, target.recipe.dim), np.float32)

    def _encode(self, target: Collection, texts: Sequence[str]) -> QueryVectors:
        return encode_all(self._encoders.matching(target.recipe), texts, target.recipe.text)


def _imported(line: Line, results: Mapping[str, Saved]) -> ImportedPhrase:
    return ImportedPhrase.of(line.name, line.error if isinstance(line, RefusedLine) else results[line.name])


def event_cursor(cursor: str | None, collection_id: str) -> EventCursor | None:
    """The events' cursor of a text that :func:`cursor_text` made. Raises ``InvalidInput``."""
    return None if cursor is None else EventCursor(*position_of(cursor, "events", collection_id, (0, 0)))


def cursor_text(cursor: EventCursor, collection_id: str) -> str:
    """A cursor of events as answers show it."""
    return cursor_at("events", collection_id, cursor.number, cursor.forgotten)


def _with_neighbours(found: MatchEvent, located: Located, collection: str, context: int) -> MatchText:
    segment, document, span = located.view.segment, located.document, found.span
    length = int(segment.text_starts[document + 1] - segment.text_starts[document])
    sides = CharSpan(max(0, span.start - context), span.start), CharSpan(span.end, min(length, span.end + context))
    before, after = (segment.stored_text(document, side) for side in sides)
    link = f"/collections/{collection}/documents/{quote(found.document_id, safe='')}"
    place = {"match": found.id, "start": span.start, "end": span.end, "text": found.text or ""}
    return converted(found, MatchText, **place, before=before, after=after, link=link)
