"""Saved phrases and their matches, for every interface."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from jaxtyping import Float32

from app.cursors import cursor_at, position_of
from app.encoders.encoders import Encoders
from app.phrases.answers import Event, EventPage, ImportedPhrase, ImportedPhrases, PhraseDescription, PhrasePage
from app.phrases.parsing import Line, RefusedLine
from indexer.catalog.leases import Lease, lease
from indexer.catalog.matches import read_events
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
from indexer.indexing.matching import rematch
from indexer.phrases import EventCursor, Phrase, PhraseChanges, PhraseDraft, Saved
from indexer.store import Store
from indexer.tuning import ThresholdChange, ThresholdOn
from indexer.types import Collection
from models.encoders.base import Encoder, check_query, encode_queries
from models.errors import InvalidInput, SpanseekError
from models.text.forms import NEWEST, TextForm
from models.types import QueryVectors

MAX_EVENTS = 1000
MAX_LISTED = 1000
# Texts per forward pass.
_BATCH = 32


class PhraseService:
    """The saved phrases of one store's collections. Raises ``CollectionNotFound`` and ``PhraseNotFound``.

    With ``backfill`` existing documents are matched, too; else only new ones.
    """

    def __init__(self, store: Store, encoders: Encoders) -> None:
        self._store = store
        self._catalog = store.catalog
        self._encoders = encoders

    def add(self, collection: str, draft: PhraseDraft, *, backfill: bool = False) -> Phrase:
        """Save a new phrase. Raises ``PhraseExists`` if the name is taken."""
        target = self._catalog.collection(collection)
        collection, vectors = target.name, self._encode(target, [draft.text])
        with self._writing(collection, backfill) as held:
            save_phrases(self._catalog, collection, [draft], vectors, replace=False)
            if held:
                rematch(self._store, held, [draft.name])
        return get_phrase(self._catalog, collection, draft.name)

    def put(self, collection: str, lines: Sequence[Line], *, backfill: bool = False) -> ImportedPhrases:
        """Save phrases; they replace phrases of the same names, and of drafts with one name the last counts.

        Invalid lines, and texts that cannot be encoded, are reported; the others are saved.
        """
        target = self._catalog.collection(collection)
        collection = target.name
        last = {line.name: line for line in lines if isinstance(line, PhraseDraft)}
        failed = self._unreadable(target, list(last.values()))
        good = [draft for name, draft in last.items() if name not in failed]
        vectors = self._vectors(target, good)
        with self._writing(collection, backfill) as held:
            saved = save_phrases(self._catalog, collection, good, vectors)
            results = dict(zip([draft.name for draft in good], saved, strict=True))
            touched = [name for name, result in results.items() if result != "unchanged"]
            rematched = rematch(self._store, held, touched) if held else None
        return ImportedPhrases(tuple(_imported(line, failed | results) for line in lines), rematched)

    def change(self, collection: str, name: str, changes: PhraseChanges) -> Phrase:
        """Change fields of a phrase. If its text or its filter changes, its matches are withdrawn."""
        vectors = None
        if changes.text is not None:
            target = self._catalog.collection(collection)
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

    def list(self, collection: str, limit: int, cursor: str | None = None) -> PhrasePage:
        """At most ``limit`` phrases by name, after the cursor of the previous page."""
        _check_limit(limit, MAX_LISTED)
        id = self._catalog.collection(collection).id
        phrases = list_phrases(self._catalog, collection, limit + 1, *position_of(cursor, "phrases", id, ("",)))
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

    def events(self, collection: str, limit: int, cursor: str | None = None, phrases: Sequence[str] = ()) -> EventPage:
        """The events after a cursor, in their order: each is read once, and none is skipped.

        Raises ``CursorExpired`` for a cursor after which withdrawals have been deleted.
        """
        _check_limit(limit, MAX_EVENTS)
        target = self._catalog.collection(collection)
        id = target.id
        after = None if cursor is None else EventCursor(*position_of(cursor, "events", id, (0, 0)))
        read = read_events(self._catalog, id, after, limit, phrases)
        next_cursor = cursor_at("events", id, read.cursor.number, read.cursor.forgotten)
        return EventPage(tuple(Event.of(event, target.recipe) for event in read.events), next_cursor, read.more)

    def _writing(self, collection: str, backfill: bool) -> AbstractContextManager[Lease | None]:
        """The lease, which only a backfill needs. Without it nothing is saved either."""
        return lease(self._catalog, collection) if backfill else nullcontext()

    def _unreadable(self, target: Collection, drafts: Sequence[PhraseDraft]) -> dict[str, Saved | SpanseekError]:
        encoder = self._encoders.matching(target.recipe)
        failed: dict[str, Saved | SpanseekError] = {}
        for draft in drafts:
            try:
                check_query(encoder, draft.text, target.recipe.text)
            except InvalidInput as error:
                failed[draft.name] = error
        return failed

    def _vectors(self, target: Collection, drafts: Sequence[PhraseDraft]) -> QueryVectors:
        """The vectors of phrases; texts that are saved already are not encoded again."""
        saved = dict(saved_vectors(self._catalog, target.name, [draft.name for draft in drafts]).values())
        new = [draft.text for draft in drafts if draft.text not in saved]
        vectors = saved | dict(zip(new, self._encode(target, new), strict=True))
        rows = [vectors[draft.text] for draft in drafts]
        return np.stack(rows) if rows else np.zeros((0, target.recipe.dim), np.float32)

    def _encode(self, target: Collection, texts: Sequence[str]) -> QueryVectors:
        return encode_all(self._encoders.matching(target.recipe), texts, target.recipe.text)


def _imported(line: Line, results: Mapping[str, Saved | SpanseekError]) -> ImportedPhrase:
    return ImportedPhrase.of(line.name, line.error if isinstance(line, RefusedLine) else results[line.name])


def encode_all(encoder: Encoder, texts: Sequence[str], form: TextForm = NEWEST) -> QueryVectors:
    """The query vectors of any number of texts, in batches of similar length."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    vectors: Float32[np.ndarray, "queries dim"] = np.zeros((len(texts), encoder.dim), np.float32)
    for begin in range(0, len(order), _BATCH):
        rows = order[begin : begin + _BATCH]
        vectors[rows] = encode_queries(encoder, [texts[row] for row in rows], form)
    return vectors


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise InvalidInput(f"A limit cannot be {limit}.", hint=f"Choose from 1 to {most}.", field="limit")
