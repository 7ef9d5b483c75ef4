"""An estimate of the likely matches of a collection, by a sample of what a search does not show.

No sentence whose best span is less similar than ``Verifier.least`` is likely. The others are ranked by similarity and
drawn from strata, as label candidates are; those are judged. The same search of the same generation draws
the same sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from app.search import literal
from app.search.verification.stage import HitVerifier, Results
from app.search.verification.stratified_sampling import BINS, RankedPairs, bins_of, draw_strata
from indexer.engine.best_sentence import sentences_of
from indexer.engine.query import EVERYTHING, Selection
from indexer.engine.rows import SpanRow
from indexer.words.literal import Terms
from models.ops.proportions import wilson
from models.ops.similarity import cosine_from_raw, raws

if TYPE_CHECKING:
    from indexer.engine.place import Place

# Sentences that are judged.
SAMPLE: Final = 200
_SEED: Final = 13


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, and both ends of its 95 % interval."""

    number: int
    low: int
    high: int


def likely_matches(verifier: HitVerifier, results: Results, terms: Terms) -> Estimate:
    """The number of sentences that are likely matches of a search's phrase, among those that its filter selects.

    At most ``SAMPLE`` are judged: all of them where there are no more, and the number is then exact. ``terms`` are the
    words of the phrase whose occurrences rank first.
    """
    rows = _candidates(verifier, results, terms)
    raw = raws(np.array([row.cosine for row in rows], np.float64))
    counts = np.bincount(bins_of(raw), minlength=BINS)[None]
    ranked, near = RankedPairs.of(raw), verifier.decision_point_of(results)
    samples = draw_strata(counts, near, SAMPLE, np.random.default_rng(_SEED)) if rows else []
    drawn = [ranked.rows(sample.stratum)[sample.ranks[0]] for sample in samples]
    (verdicts,) = verifier.verdicts([results.of_rows([rows[at] for of in drawn for at in of.tolist()])])
    likely = np.array([verdict.judgement.is_likely for verdict in verdicts], bool)
    parts = np.split(likely, np.cumsum([len(of) for of in drawn])[:-1]) if drawn else []
    return estimated(np.array([sample.stratum.population for sample in samples], np.int64), parts)


def estimated(populations: Int[np.ndarray, " strata"], likely: Sequence[Bool[np.ndarray, " _drawn"]]) -> Estimate:
    """The number of likely ones in strata of these sizes, from those that were drawn of each.

    The interval is Wilson's, for a simple sample that would have the variance of the stratified one; it holds at least
    what was seen.

    >>> estimated(np.array([4, 100]), [np.array([True] * 4), np.array([False] * 18 + [True] * 2)])
    Estimate(number=14, low=7, high=34)
    >>> estimated(np.array([3]), [np.array([True, False, True])])
    Estimate(number=2, low=2, high=2)
    """
    total, seen = int(populations.sum()), sum(int(of.sum()) for of in likely)
    drawn = np.array([len(of) for of in likely])
    if not total or (drawn == populations).all():
        return Estimate(seen, seen, seen)
    shares = np.array([of.mean() for of in likely])
    number = float(populations @ shares)
    left = total - int(populations[drawn == populations].sum())
    sampled = drawn < populations
    exact = float((populations * shares)[~sampled].sum())
    low, high = _interval(populations[sampled], shares[sampled], drawn[sampled])
    bounds = (max(seen, round(exact + low * left)), min(total, round(exact + high * left)))
    return Estimate(round(number), min(bounds[0], round(number)), max(bounds[1], round(number)))


def _interval(
    populations: Int[np.ndarray, " strata"], shares: Float[np.ndarray, " strata"], drawn: Int[np.ndarray, " strata"]
) -> tuple[float, float]:
    """Both ends of the share of likely ones in strata that were not drawn whole."""
    weights = populations / populations.sum()
    share = float(weights @ shares)
    left = 1 - drawn / populations  # the correction for finite populations
    variance = float((weights**2 * left * shares * (1 - shares) / np.maximum(drawn - 1, 1)).sum())
    equal = float(1 / (weights**2 / drawn).sum())
    size = min(share * (1 - share) / variance, float(drawn.sum())) if variance > 0 else equal
    low, high = wilson(np.array([share]), np.array([size]))[0].tolist()
    return low, high


def _candidates(verifier: HitVerifier, results: Results, terms: Terms) -> list[SpanRow]:
    """The best span of every sentence that may be likely."""
    (span,) = verifier.span_queries([results])
    floor = float(cosine_from_raw(verifier.least_of(results))) - 1e-9
    selection = Selection(EVERYTHING, filter=results.request.filter)
    spans = literal.count(results.snapshot, verifier.spans, span, terms, floor, selection).spans
    best: dict[tuple[str, int], SpanRow] = {}
    for scored in map(spans.row, range(len(spans.cosines))) if spans else ():
        place = cast("Place", scored.place)
        units = place.segment_units
        row = SpanRow(place.segment.folder.name, units.start, units.end, scored.cosine)
        key = row.segment, sentences_of(place.segment, units).start
        if key not in best or best[key].cosine < row.cosine:
            best[key] = row
    return sorted(best.values(), key=lambda row: (-row.cosine, row.segment, row.start))
