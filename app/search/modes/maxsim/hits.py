"""Hits of mode maxsim."""

from collections.abc import Callable

import numpy as np

from app.search.modes.maxsim.nugget_queries import NuggetQuery
from app.search.types import Hit, NuggetPair, PairedExplanation, SearchRequest, SentenceMatch, TextSpan
from indexer.nuggets.places import DocumentPlace
from indexer.nuggets.scan import ScoredDocument, match
from indexer.segments.text import OffsetUnit, offset_in
from indexer.tuning import Tuning
from indexer.words.literal import EXACT
from models.ops.similarity import raws
from models.types import CharSpan


def present_documents(
    request: SearchRequest, query: NuggetQuery, documents: list[ScoredDocument], tuning: Tuning
) -> tuple[Hit, ...]:
    """Hits with texts and metadata, numbered from 1, offsets in the unit of the request."""
    raw = raws(np.array([document.cosine for document in documents], np.float64))
    scales = zip(raw.tolist(), tuning.scores(raw).tolist(), strict=True)
    return tuple(
        _hit(request, query, document, rank, *scale)
        for rank, (document, scale) in enumerate(zip(documents, scales, strict=True), 1)
    )


def _hit(
    request: SearchRequest, query: NuggetQuery, document: ScoredDocument, rank: int, raw: float, score: float
) -> Hit:
    place = document.place
    return Hit(
        document_id=document.document_id,
        start=0,
        end=place.offset(place.span.end, request.offset_unit),
        text=place.text(place.span),
        score=score,
        raw=raw,
        mode=request.mode,
        rank=rank,
        metadata=place.metadata(),
        explanation=_explanation(request, query, document) if request.explain else None,
        match="exact" if query.terms and document.cosine == EXACT else None,
    )


def _explanation(request: SearchRequest, query: NuggetQuery, document: ScoredDocument) -> PairedExplanation:
    """The best nugget for every part of the query; each contributes its cosine / the number of query vectors."""
    matched = match(document.place, query.vectors)
    pairs = zip(matched.matches.tolist(), matched.cosines.tolist(), strict=True)
    return PairedExplanation(
        matched.score,
        tuple(_pair(request, query, number, document, nugget, cosine) for number, (nugget, cosine) in enumerate(pairs)),
        _best_sentence(request, query, document.place),
        EXACT - matched.score if query.terms and document.cosine == EXACT else 0.0,
    )


def _best_sentence(request: SearchRequest, query: NuggetQuery, place: DocumentPlace) -> SentenceMatch | None:
    """A sentence that has them together: the best nuggets of several query vectors may lie far apart."""
    best = place.best_sentence(query.vectors)
    if best is None:
        return None
    span, cosine = best
    start, end = (place.offset(at, request.offset_unit) for at in (span.start, span.end))
    return SentenceMatch(start, end, place.text(span), cosine)


def _pair(
    request: SearchRequest, query: NuggetQuery, number: int, document: ScoredDocument, nugget: int, cosine: float
) -> NuggetPair:
    place, unit = document.place, request.offset_unit
    where = place.nugget(nugget)
    segment = _text_span(where.stretch, place.text, place.offset, unit)
    return NuggetPair(
        query=_query_text(request.text, query, number, unit),
        nugget=_text_span(where.token, place.text, place.offset, unit),
        segment_text=segment,
        stretch=segment,
        cosine=cosine,
        contribution=cosine / len(query.vectors),
    )


def _query_text(text: str | None, query: NuggetQuery, number: int, unit: OffsetUnit) -> TextSpan | None:
    """The part of the query that one of its vectors represents."""
    if text is None or query.parts is None:
        return None
    return _text_span(
        query.parts[number].stretch, lambda span: span.of(text), lambda at, _: offset_in(text, at, unit), unit
    )


def _text_span(
    span: CharSpan,
    text: Callable[[CharSpan], str],
    offset: Callable[[int, OffsetUnit], int],
    unit: OffsetUnit,
) -> TextSpan:
    return TextSpan(offset(span.start, unit), offset(span.end, unit), text(span))
