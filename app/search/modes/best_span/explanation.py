"""The explanation of a span score: the contributions of units to the cosine, and the terms of length and borders."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from app.answers import described, optional
from app.requests import SearchRequest
from app.search.modes.best_span.queries import SpanQuery, terms_of
from app.search.types import TextSpan
from indexer.engine.place import ScoredSpan
from indexer.engine.whole_spans import best_span_within


@dataclass(frozen=True, slots=True)
class UnitContribution:
    """The contribution of one unit to the cosine of its span."""

    start: int
    end: int
    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class PartAround:
    """The part around a whole clause or sentence."""

    cosine: float
    share: Annotated[
        float, described("How much its cosine counts beside the terms of the whole span and its best span.")
    ]


@dataclass(frozen=True, slots=True)
class SpanWithin:
    """The best span within a whole clause, sentence or part."""

    start: int
    end: int
    text: str
    span_score: float
    share: Annotated[float, described("How much its span score counts beside the score of the whole span.")]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The terms of the hit's span score, and the units' contributions to its cosine.

    Their sum is `2 * raw - 1`. For a whole span the sum counts for what the shares of its best span and its part leave.
    """

    cosine: Annotated[float, described("The contributions of the units add up to it.")]
    units: tuple[UnitContribution, ...]
    length: Annotated[float, described("The discount of a span that is shorter than the query; 0 or less.")] = 0.0
    borders: Annotated[
        float,
        described("What the span's start and end lack of borders, and what a sentence end inside costs; 0 or less."),
    ] = 0.0
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0
    best_span: Annotated[
        SpanWithin | None, described("Of whole clauses, sentences and parts: the span that says it best.")
    ] = None
    part: Annotated[PartAround | None, optional("Of whole clauses and sentences: the part around, if it counts.")] = (
        None
    )

    def lines(self) -> Iterator[str]:
        """The terms of the score, and the contributions of the units."""
        terms = ("cosine", self.cosine), ("length", self.length), ("borders", self.borders)
        exact = [("exact", self.exact)] if self.exact else []
        part = [("part", self.part.cosine)] if self.part else []
        yield "  ".join(f"{name} {value:+.3f}" for name, value in (*terms, *exact, *part))
        yield "  ".join(f"{unit.text} {unit.contribution:+.3f}" for unit in self.units)


def explained(request: SearchRequest, query: SpanQuery, scored: ScoredSpan) -> Explanation:
    """The terms of the score, and the contribution of every unit to the cosine.

    That is its dot product with the query, over the norm of the span's sum.
    """
    place = scored.place
    vectors = place.unit_vectors().astype(np.float64)
    contributions = vectors @ query.vector / np.linalg.norm(vectors.sum(axis=0))
    units = (TextSpan.at(place, span, request.offset_unit) for span in place.unit_spans())
    contributed = (
        UnitContribution(unit.start, unit.end, unit.text, contribution)
        for unit, contribution in zip(units, contributions.tolist(), strict=True)
    )
    terms, (before, after) = terms_of([query]), place.borders
    length = float(query.score.lengths(np.array([query.units]), len(vectors))[0, -1])
    borders = float(terms.start[before] + terms.end[after])
    cosine = float(contributions.sum())
    if request.spans.boundary and not scored.exact:
        best = _span_within(request, query, scored)
        around = _part_around(request, query, scored, 1 - (best.share if best else 0.0))
        return Explanation(cosine, tuple(contributed), length, borders, best_span=best, part=around)
    if place.holds_sentence_end and not request.spans.boundary:
        borders += float(terms.crossing[0])
    if scored.exact:
        return Explanation(cosine, tuple(contributed), length, borders, scored.cosine - cosine - length - borders)
    return Explanation(scored.cosine - length - borders, tuple(contributed), length, borders)


def _part_around(request: SearchRequest, query: SpanQuery, whole: ScoredSpan, left: float) -> PartAround | None:
    """The part around a whole span, where it counts; ``left`` is the share of both."""
    share = left * query.score.share_of_context(request.spans.boundary or "part")
    if not share:
        return None
    total = whole.place.part_vectors().astype(np.float64).sum(axis=0)
    return PartAround(float(total @ query.vector / np.linalg.norm(total)), share)


def _span_within(request: SearchRequest, query: SpanQuery, whole: ScoredSpan) -> SpanWithin | None:
    """The best span of a whole span, where it counts."""
    share, place = 1 - query.score.share(request.spans.boundary or "part"), whole.place
    within = best_span_within(place, query.vector, terms_of([query])) if share else None
    if within is None:
        return None
    span, score = within
    best = TextSpan.at(place, span, request.offset_unit)
    return SpanWithin(best.start, best.end, best.text, score, share)
