"""Restores texts from given vectors or the vectors of stored sentences."""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Self

import numpy as np

from app.encoders.encoders import Encoders
from app.search.errors import ModeUnavailable
from app.services import Services
from app.texts.requests import SpanRange
from app.texts.restored_answers import (
    MAX_SENTENCES,
    GivenVectors,
    RestoreAnswer,
    RestoredTextAnswer,
    RestoreRequest,
    StoredSpans,
    TextVectors,
    TokenAnswer,
)
from app.texts.span_answers import TooManySentences
from indexer.engine.located import Located, require_documents
from indexer.restorable.files import NAME, stored_restorable
from indexer.restorable.models import Restoring
from indexer.restorable.texts import Row, is_apart, rows_of
from indexer.segments.reader import Segment
from indexer.store import Store
from models.encoders.restorable.base import Restoration, RestoredToken, Restorer
from models.errors import InvalidInput
from models.types import CharSpan, UnitSpan

# What stood between two sentences.
_SPACE = RestoredToken(" ", 1.0)


class RestoreService:
    """Texts back from vectors. ``warn_below`` is the confidence below which a text comes with a warning."""

    def __init__(self, store: Store, encoders: Encoders, *, warn_below: float) -> None:
        self._store = store
        self._restoring = encoders.shared(Restoring)
        self._warn_below = warn_below

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.encoders, warn_below=services.settings.restore_warn_below)

    def vectors(self, texts: Sequence[str]) -> TextVectors:
        """The vectors of texts. Raises ``InvalidInput`` for a text that is longer than the restorer reads."""
        restorer = self._restoring.restorer
        vectors = tuple(tuple(map(tuple, memory.tolist())) for memory in restorer.encode(texts))
        return TextVectors(vectors, restorer.fingerprint, restorer.dim, restorer.compared)

    def given(self, texts: Sequence[str]) -> GivenVectors:
        """The vectors of texts, to be restored."""
        restorer = self._restoring.restorer
        return GivenVectors(tuple(restorer.encode(texts)), restorer.fingerprint)

    def restore(self, request: RestoreRequest) -> RestoreAnswer:
        """The texts of vectors or of stored sentences.

        Raises ``InvalidInput`` for vectors that are none of this model's, ``DocumentNotFound``, ``TooManySentences``,
        and ``ModeUnavailable`` for a collection without restorable vectors.
        """
        warn_below = self._warn_below if request.warn_below is None else request.warn_below
        if request.stored is not None:
            answers = self._stored(request.stored, request.beams, warn_below)
        elif request.vectors is not None:
            answers = self._given(request.vectors, request.beams, warn_below)
        else:
            raise InvalidInput("There is nothing to restore.", hint="Give vectors, or spans of a collection.")
        return RestoreAnswer(tuple(answers), self._restoring.restorer.fingerprint)

    def _given(self, vectors: GivenVectors, beams: int, warn_below: float) -> Iterator[RestoredTextAnswer]:
        restorer = self._restoring.restorer
        if vectors.fingerprint != restorer.fingerprint:
            raise InvalidInput(
                f"The vectors are of {vectors.fingerprint}; this server restores vectors of {restorer.fingerprint}.",
                hint="Make them anew with `POST /vectors`, or serve with the weights that made them.",
                field="fingerprint",
            )
        for restoration in restorer.restore(vectors.texts, beams=beams):
            yield _answer([restoration], warn_below)

    def _stored(self, stored: StoredSpans, beams: int, warn_below: float) -> Iterator[RestoredTextAnswer]:
        snapshot = self._store.snapshot(stored.collection)
        if NAME not in snapshot.recipe.details:
            raise ModeUnavailable(
                f"The collection {stored.collection} has no vectors that give its sentences back.",
                hint="Run `spanseek reindex --restorable`; or read the document, whose text is stored.",
                field="collection",
            )
        ids = [span.document_id for span in stored.spans]
        located = require_documents(snapshot, stored.collection, ids, stored.filter)
        rows = [_touched(located[span.document_id], span) for span in stored.spans]
        _check_number(sum(map(len, rows)))
        restorer = self._restoring.matching(snapshot.recipe).restorer
        restorations = iter(_restored(restorer, list(chain.from_iterable(rows)), beams))
        for span, of_span in zip(stored.spans, rows, strict=True):
            whole = of_span[0].segment.char_span(UnitSpan(of_span[0].units.start, of_span[-1].units.end))
            of_rows = [next(restorations) for _ in of_span]
            spaces = [is_apart(*pair) for pair in pairwise(of_span)]
            yield _answer(of_rows, warn_below, (span.document_id, whole), spaces)


def _check_number(sentences: int) -> None:
    if sentences > MAX_SENTENCES:
        raise TooManySentences(
            f"The spans touch {sentences:,} sentences; at most {MAX_SENTENCES:,} are restored at once.",
            hint="Name fewer or shorter spans; a long document is read by `GET /collections/NAME/documents/ID`.",
            field="spans",
        )


def _restored(restorer: Restorer, rows: Sequence[Row], beams: int) -> list[Restoration]:
    return restorer.restore([stored_restorable(row.segment).memory(row.number) for row in rows], beams=beams)


def _touched(located: Located, span: SpanRange) -> list[Row]:
    """The rows of the sentences that a span touches. Raises ``InvalidInput`` if there is none."""
    segment: Segment = located.view.segment
    first, last = segment.document_units[located.document : located.document + 2].tolist()
    spans = segment.unit_spans[first:last].astype(np.int64)
    touched = np.flatnonzero((spans[:, 0] < span.end) & (spans[:, 1] > span.start))
    if not len(touched):
        raise InvalidInput(
            f"No sentence of the document {span.document_id!r} stands from {span.start} to {span.end}.",
            hint="Give the start and the end of a hit, in code points.",
            field="spans",
        )
    return rows_of(segment, UnitSpan(first + int(touched[0]), first + int(touched[-1]) + 1))


def _answer(
    restorations: Sequence[Restoration],
    warn_below: float,
    place: tuple[str, CharSpan] | None = None,
    spaces: Sequence[bool] = (),
) -> RestoredTextAnswer:
    """The answer of one text; ``spaces`` says which of its sentences stand apart from the one before."""
    tokens: list[RestoredToken] = []
    for restoration, is_apart_from_last in zip(restorations, (False, *spaces), strict=True):
        tokens += [_SPACE] * is_apart_from_last
        tokens += restoration.tokens
    confidence = min(each.confidence for each in restorations)
    return RestoredTextAnswer(
        "".join(token.text for token in tokens),
        round(confidence, 6),
        tuple(TokenAnswer(token.text, round(token.confidence, 6)) for token in tokens),
        _warning(confidence, warn_below),
        *((None, None, None) if place is None else (place[0], place[1].start, place[1].end)),
    )


def _warning(confidence: float, warn_below: float) -> str | None:
    if confidence >= warn_below:
        return None
    return f"The text may differ: its least certain token has a probability of {confidence:.2f}."
