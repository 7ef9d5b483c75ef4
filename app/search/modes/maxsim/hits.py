"""Hits of mode maxsim."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from app.answers import deprecated, described, optional
from app.requests import SearchRequest
from app.search.answers import Hit, TextSpan
from app.search.hits import MAX_TEXT, shortened
from app.search.modes.maxsim.nugget_queries import NuggetQuery
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Filter
from indexer.nuggets.places import DocumentPlace
from indexer.nuggets.scan import match
from indexer.segments.text import OffsetUnit, offset_in
from indexer.tuning import Tuning
from models.ops.similarity import raws
from models.types import CharSpan


@dataclass(frozen=True, slots=True)
class NuggetPair:
    """A vector of the query, and the document's nugget that is most similar to it."""

    query: Annotated[
        TextSpan | None, described("The part of the query that its vector represents; null for a given vector.")
    ]
    nugget: Annotated[TextSpan, described("The nugget's token.")]
    segment_text: Annotated[
        TextSpan, described("The nugget's segment: from the end of the previous nugget to its own end.")
    ]
    stretch: Annotated[TextSpan, deprecated("The old name of `segment_text`; it goes with the next version.")]
    cosine: float
    contribution: Annotated[float, described("The cosine divided by the number of the query's vectors.")]


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A sentence of a document, and the mean cosine that its nuggets alone have."""

    start: int
    end: int
    text: str
    cosine: float


@dataclass(frozen=True, slots=True)
class PairedExplanation:
    """The mean cosine of the pairs, and the pairs, whose contributions add up to it; with `exact`, to `2 * raw - 1`."""

    cosine: float
    pairs: tuple[NuggetPair, ...]
    best_sentence: Annotated[
        SentenceMatch | None,
        optional("The sentence that alone matches the query best; absent where the collection has no borders."),
    ] = None
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0

    def lines(self) -> Iterator[str]:
        """The best sentence, and the pairs with their contributions."""
        if self.best_sentence:
            yield f"{self.best_sentence.cosine:+.3f}  best sentence: {self.best_sentence.text}"
        for pair in self.pairs:
            query = pair.query.text.strip() if pair.query else "the vector"
            yield f"{pair.contribution:+.3f}  {query} → {pair.segment_text.text.strip()}"


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A document with its exact score, a mean of cosines. ``place`` gives its text, metadata and nuggets."""

    document_id: str
    cosine: float
    place: DocumentPlace
    exact: bool

    @classmethod
    def of(cls, span: ScoredSpan, filter: Filter) -> "ScoredDocument":
        """The document of a row. Its nuggets are those that pass a filter; all, if it holds the query's own words."""
        place = DocumentPlace.at(span.place, Filter() if span.exact else filter)
        return cls(span.document_id, span.cosine, place, span.exact)

    @property
    def span(self) -> CharSpan:
        """All characters of the document."""
        return self.place.span


def present_documents(
    request: SearchRequest, query: NuggetQuery, spans: list[ScoredSpan], tuning: Tuning
) -> tuple[Hit, ...]:
    """Hits with texts and metadata, numbered from 1, offsets in the unit of the request."""
    raw = raws(np.array([span.cosine for span in spans], np.float64))
    scales = zip(raw.tolist(), tuning.scores(raw).tolist(), strict=True)
    return tuple(
        _hit(request, query, span, rank, *scale)
        for rank, (span, scale) in enumerate(zip(spans, scales, strict=True), 1)
    )


def _hit(request: SearchRequest, query: NuggetQuery, span: ScoredSpan, rank: int, raw: float, score: float) -> Hit:
    document = ScoredDocument.of(span, request.filter)
    place = document.place
    whole = place.span
    shown = whole if whole.end <= MAX_TEXT else shortened(request, span).span
    return Hit(
        document_id=document.document_id,
        start=place.offset(shown.start, request.offset_unit),
        end=place.offset(shown.end, request.offset_unit),
        text=place.text(shown),
        score=score,
        raw=raw,
        mode=request.mode,
        rank=rank,
        metadata=place.metadata(),
        explanation=_explanation(request, query, document) if request.explain else None,
        cut=None if shown == whole else True,
    )


def _explanation(request: SearchRequest, query: NuggetQuery, document: ScoredDocument) -> PairedExplanation:
    """The best nugget for every part of the query; each contributes its cosine / the number of query vectors."""
    matched = match(document.place, query.vectors)
    pairs = zip(matched.matches.tolist(), matched.cosines.tolist(), strict=True)
    return PairedExplanation(
        matched.score,
        tuple(_pair(request, query, number, document, nugget, cosine) for number, (nugget, cosine) in enumerate(pairs)),
        _best_sentence(request, query, document.place),
        document.cosine - matched.score if document.exact else 0.0,
    )


def _best_sentence(request: SearchRequest, query: NuggetQuery, place: DocumentPlace) -> SentenceMatch | None:
    """A sentence that has them together: the best nuggets of several query vectors may lie far apart."""
    best = place.best_sentence(query.vectors)
    if best is None:
        return None
    span, cosine = best
    sentence = TextSpan.at(place, span, request.offset_unit)
    return SentenceMatch(sentence.start, sentence.end, sentence.text, cosine)


def _pair(
    request: SearchRequest, query: NuggetQuery, number: int, document: ScoredDocument, nugget: int, cosine: float
) -> NuggetPair:
    place, unit = document.place, request.offset_unit
    where = place.nugget(nugget)
    segment = TextSpan.at(place, where.segment_span, unit)
    return NuggetPair(
        query=_query_text(request.text, query, number, unit),
        nugget=TextSpan.at(place, where.token, unit),
        segment_text=segment,
        stretch=segment,
        cosine=cosine,
        contribution=cosine / len(query.vectors),
    )


def _query_text(text: str | None, query: NuggetQuery, number: int, unit: OffsetUnit) -> TextSpan | None:
    """The part of the query that one of its vectors represents."""
    if text is None or query.parts is None:
        return None
    span = query.parts[number].segment_span
    return TextSpan(offset_in(text, span.start, unit), offset_in(text, span.end, unit), span.of(text))
