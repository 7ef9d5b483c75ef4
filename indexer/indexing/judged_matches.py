"""The verification of matches of saved phrases, before they are stored (ADR 45)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from indexer.arrays import SpanTerms
from indexer.engine.rows import SpanRow
from indexer.engine.views import SegmentView
from indexer.phrases import PhraseSet
from indexer.store import Store
from indexer.words.clauses import PhraseQuery
from models.errors import BackboneMissing
from models.verifier.types import Judgement, Pair

if TYPE_CHECKING:
    from models.verifier.verifier import Verifier

# Judging a match takes about as long as encoding 30 units. So that documents arrive no slower where everything matches,
# the best of a segment are judged: one for so many units, and at least and at most so many. Those of phrases that keep
# likely ones alone are judged in any case.
_UNITS: Final = 150
FEWEST, MOST = 20, 200

# A match: the row of its phrase in the set, and its span.
Found = tuple[int, SpanRow]


def judgements(store: Store, view: SegmentView, phrases: PhraseSet, found: Sequence[Found]) -> list[Judgement | None]:
    """Judge the matches in one segment.

    The judgement is None if the collection has no verifier, and for matches that are not among the best, unless
    their phrase keeps only likely matches.
    """
    said: list[Judgement | None] = [None] * len(found)
    verifier = _verifier(store, view) if found else None
    if verifier is None:
        return said
    count = min(max(FEWEST, view.segment.manifest.units // _UNITS), MOST)
    best = set(np.argsort([-row.cosine for _, row in found], kind="stable")[:count].tolist())
    read = [at for at, (number, _) in enumerate(found) if at in best or phrases.likely_only[number]]
    pairs = _pairs(view, phrases, [found[at] for at in read])
    for at, judgement in zip(read, verifier.judge(pairs), strict=True):
        said[at] = judgement
    return said


def _verifier(store: Store, view: SegmentView) -> "Verifier | None":
    """The verifier of a segment's texts; None where it has none, or this machine lacks the backbone."""
    try:
        return store.verifier(view.segment.recipe)
    except BackboneMissing:
        return None


def _pairs(view: SegmentView, phrases: PhraseSet, found: Sequence[Found]) -> list[Pair]:
    """Every match's phrase with its sentence. The clauses of a phrase are found together."""
    terms = phrases.queries.terms or SpanTerms.none(len(phrases))
    places: dict[int, list[int]] = {}
    for at, (number, _) in enumerate(found):
        places.setdefault(number, []).append(at)
    pairs: dict[int, Pair] = {}
    for number, of_phrase in places.items():
        words = phrases.terms[number] if phrases.terms else ()
        own = terms.of_query(number)
        query = PhraseQuery(phrases.texts[number], phrases.vectors[number], own, words)
        clauses = query.clauses(lambda name: view, [found[at][1] for at in of_phrase])
        pairs |= {at: clause.pair for at, clause in zip(of_phrase, clauses, strict=True)}
    return [pairs[at] for at in range(len(found))]
