"""The second look: the best hits of a search, read one by one beside its phrase, and ordered by what they say."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

import numpy as np

from app.requests import SearchRequest
from app.search.answers import Verified
from app.search.literal import Found
from app.search.types import Hit
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from models.ops.similarity import raws
from models.types import CharSpan
from models.verifier.verdicts import LIKELY, Judgement, Pair

AnyHit = TypeVar("AnyHit", bound=Hit)

# With this many unlikely hits among those that were read, no likely one is expected behind them.
_UNLIKELY: Final = 5


@dataclass(frozen=True, slots=True)
class Ordered:
    """The results of a search as they are shown, and the judgements of the first of them.

    ``judgements`` are None if there was no room for the second look.
    """

    found: Found
    judgements: Sequence[Judgement] | None = ()

    def of(self, place: int) -> Judgement | None:
        """The judgement of the result at a place."""
        return self.judgements[place] if self.judgements and place < len(self.judgements) else None


def pairs_of(request: SearchRequest, snapshot: Snapshot, rows: Sequence[SpanRow]) -> list[Pair]:
    """The phrase with the sentence of every row, where the row's span is marked."""
    if request.text is None:
        return []
    similarities = raws(np.array([row.cosine for row in rows], np.float64)).round(4).tolist()
    pairs = []
    for row, similarity in zip(rows, similarities, strict=True):
        place = snapshot.scored(row).place
        sentence, span = place.sentence(), place.span
        mark = CharSpan(max(span.start - sentence.start, 0), span.end - sentence.start)
        pairs.append(Pair(request.text, place.text(sentence), None if span == sentence else mark, similarity))
    return pairs


def ordered(found: Found, judgements: Sequence[Judgement]) -> Ordered:
    """The results: first those that were judged, the likeliest first, then the others as they were found."""
    order = sorted(range(len(judgements)), key=lambda place: -judgements[place].probability)
    rows = [found.rows[place] for place in order] + found.rows[len(judgements) :]
    return Ordered(replace(found, rows=rows), [judgements[place] for place in order])


def told(hit: AnyHit, judgement: Judgement | None) -> AnyHit:
    """A hit with what the second look says of it."""
    if judgement is None:
        return hit
    return replace(
        hit,
        probability=judgement.probability,
        verdict=judgement.verdict,
        differs=judgement.differs or None,
    )


def summary(results: Ordered) -> Verified | Literal[False] | None:
    """How many results were read, and how many of them are likely; None if there is no second look."""
    read = results.judgements
    if not read:
        return False if read is None else None
    likely = sum(judgement.probability >= LIKELY for judgement in read)
    return Verified(len(read), likely, len(read) == len(results.found) or likely + _UNLIKELY <= len(read))
