"""The second look on matches of saved phrases, before they are stored (ADR 45)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from indexer.arrays import SpanTerms
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import SegmentView
from indexer.phrases import PhraseSet
from indexer.store import Store
from indexer.words.clauses import Clause, PhraseQuery
from models.errors import BackboneMissing
from models.verifier.types import Judgement

if TYPE_CHECKING:
    from models.verifier.verifier import Verifier

# Judging a match takes about as long as encoding 30 units. So that documents arrive no slower where everything matches,
# the best of a segment are judged: one for so many units, and at least and at most so many. Those of phrases that keep
# likely ones alone are judged in any case.
_UNITS: Final = 150
FEWEST, MOST = 20, 200

# A match: the row of its phrase in the set, and its span.
Found = tuple[int, SpanRow]


def judged(
    store: Store, view: SegmentView, phrases: PhraseSet, found: Sequence[Found]
) -> list[tuple[Found, Judgement | None]]:
    """The matches in one segment with what is said of them, in their order, less those that their phrases do not keep.

    None is said where the collection has no second look, and of matches that are not among the best.
    """
    verifier = _verifier(store, view) if found else None
    if verifier is None:
        return [(each, None) for each in found]
    count = min(max(FEWEST, view.segment.manifest.units // _UNITS), MOST)
    best = set(np.argsort([-row.cosine for _, row in found], kind="stable")[:count].tolist())
    read = [at for at, (number, _) in enumerate(found) if at in best or phrases.likely_only[number]]
    pairs = [clause.pair for clause in _clauses(view, phrases, [found[at] for at in read])]
    said = dict(zip(read, verifier.judge(pairs), strict=True))
    every = ((each, said.get(at)) for at, each in enumerate(found))
    return [(each, judgement) for each, judgement in every if _is_kept(phrases, each, judgement)]


def _verifier(store: Store, view: SegmentView) -> "Verifier | None":
    """The verifier of a segment's texts; None where it has none, or this machine lacks the backbone."""
    if not view.segment.recipe.stores_text:
        return None
    try:
        return store.verifier(view.segment.recipe)
    except BackboneMissing:
        return None


def _clauses(view: SegmentView, phrases: PhraseSet, found: Sequence[Found]) -> list[Clause]:
    terms = phrases.queries.terms or SpanTerms.none(len(phrases))
    queries = {
        number: PhraseQuery(
            phrases.texts[number],
            phrases.vectors[number],
            terms.take(slice(number, number + 1)),
            phrases.terms[number] if phrases.terms else (),
        )
        for number in dict.fromkeys(number for number, _ in found)
    }
    by_phrase: dict[int, list[int]] = {}
    for at, (number, _) in enumerate(found):
        by_phrase.setdefault(number, []).append(at)
    clauses: dict[int, Clause] = {}
    for number, places in by_phrase.items():
        read = queries[number].clauses(lambda name: view, [found[at][1] for at in places])
        clauses |= dict(zip(places, read, strict=True))
    return [clauses[at] for at in range(len(found))]


def _is_kept(phrases: PhraseSet, found: Found, judgement: Judgement | None) -> bool:
    number, _ = found
    return judgement is None or judgement.is_likely or not phrases.likely_only[number]
