"""The second look: the best hits of a search, read one by one beside its phrase, and ordered by what they say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

import numpy as np

from app.requests import SearchRequest
from app.search.answers import Verified
from app.search.literal import Found
from app.search.mode import AnyMode
from app.search.types import Hit
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.types import Recipe
from indexer.words.literal import EXACT
from models.errors import InvalidInput
from models.ops.similarity import raws
from models.types import CharSpan
from models.verifier.types import LIKELY, Judgement, Pair

if TYPE_CHECKING:
    from models.verifier.verifier import Verifier

# The verifier of a recipe, if it has one.
VerifierOf: TypeAlias = "Callable[[Recipe], Verifier | None]"
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


def no_verifier(recipe: Recipe) -> None:
    """There is none, for any recipe."""


def count_of(request: SearchRequest, mode: AnyMode, recipe: Recipe, verifier: VerifierOf) -> int:
    """The number of best hits that take the second look, which is loaded if there is one.

    None of a vector, by the literal cosine, in modes of other scores, and of texts that are not stored. Raises
    ``InvalidInput`` if the request asks for likely hits all the same.
    """
    is_judged = mode.is_judged and request.text is not None and request.ranking == "span_score" and recipe.stores_text
    count = request.read if is_judged and request.read and verifier(recipe) is not None else 0
    if request.likely and not count:
        raise InvalidInput(
            "What is likely is said by the second look, which this search does not have.",
            hint="Give a text in mode best_span, to a collection of the encoder slice; or leave likely out.",
            field="likely",
        )
    return count


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
    """The results: first those that were judged, the likeliest first, then the others as they were found.

    Of those that were judged, occurrences of the query's own words stay before all others.
    """
    places = range(len(judgements))
    order = sorted(places, key=lambda place: (found.rows[place].cosine < EXACT, -judgements[place].probability))
    rows = [found.rows[place] for place in order] + found.rows[len(judgements) :]
    return Ordered(replace(found, rows=rows), [judgements[place] for place in order])


def order_of(hit: Hit) -> tuple[bool, float, float]:
    """Sorts hits of several searches as one: exact ones, those that were judged by probability, the others by raw."""
    judged = -1.0 if hit.probability is None else hit.probability
    return hit.match != "exact", -judged, -hit.raw


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
    """The numbers of results that were read and of likely ones; None if there is no second look."""
    read = results.judgements
    if not read:
        return False if read is None else None
    likely = sum(judgement.probability >= LIKELY for judgement in read)
    return Verified(len(read), likely, len(read) == len(results.found) or likely + _UNLIKELY <= len(read))
