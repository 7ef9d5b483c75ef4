"""The order of verified hits: occurrences of the phrase's own words, likely matches, then others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from app.requests import SearchRequest
from app.search.answers import Hit, TextSpan, UsedThreshold, Verified
from app.search.literal import RankedRows
from indexer.segments.text import OffsetUnit
from indexer.words.clauses import Clause
from indexer.words.literal import EXACT
from models.ops.similarity import raw_from_cosine
from models.verifier.types import Judgement, Verdict

# Not exact, not likely, and a number that is least for the best hit.
Order: TypeAlias = tuple[bool, bool, float]
AnyHit = TypeVar("AnyHit", bound=Hit)

# What the probability of a hit counts beside its raw where hits are put into order. Probabilities alone tell likely
# hits from others, and little more: an answer does not say its question. Chosen by ADR 60.
_BESIDE_RAW: Final = 0.15
# With this many unlikely hits among those that were read, no likely one is expected behind them.
_UNLIKELY: Final = 5


@dataclass(frozen=True, slots=True)
class JudgedClause:
    """The judgement of a result, and the clause that was read of it."""

    clause: Clause
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Verification:
    """What a request asks of verification: the number of best hits to read, and the verdicts of hits that are kept.

    None among the verdicts stands for hits that were not read.
    """

    count: int
    kept: tuple[Verdict | None, ...]

    @classmethod
    def of(cls, count: int, request: SearchRequest, used: UsedThreshold) -> "Verification":
        """The verification of the ``count`` best hits above a threshold.

        With the threshold ``auto``, hits that were not read are kept only if it has a value, which their similarity
        must reach.
        """
        if request.likely or (used.source == "auto" and used.value is None):
            return cls(count, ("match",))
        return cls(count, ("match", None) if used.source == "auto" else (*get_args(Verdict), None))


@dataclass(frozen=True, slots=True)
class Ordered:
    """The results of a search as they are shown, and the verdicts on those from place ``first`` on that were read.

    ``verified`` are the numbers of read and of likely results: None if none was read, False if there was no room or no
    time for verification.
    """

    ranked: RankedRows
    verdicts: Sequence[JudgedClause] = ()
    first: int = 0
    verified: Verified | Literal[False] | None = None

    def of(self, place: int) -> JudgedClause | None:
        """The verdict on the result at a place."""
        at = place - self.first
        return self.verdicts[at] if 0 <= at < len(self.verdicts) else None


def ordered(ranked: RankedRows, verdicts: Sequence[JudgedClause], kept: Sequence[Verdict | None]) -> Ordered:
    """The results that are kept: those that were read in the order of :func:`rank_key`, then others as they were found.

    ``kept`` has the verdicts of results that are kept, and None if those that were not read are.
    """
    read = list(zip(ranked.rows, (verdict.judgement for verdict in verdicts), strict=False))
    keys = [
        rank_key(row.cosine >= EXACT, said.is_likely, said.probability, raw_from_cosine(row.cosine))
        for row, said in read
    ]
    order = [place for place in sorted(range(len(read)), key=keys.__getitem__) if read[place][1].verdict in kept]
    rows = [ranked.rows[place] for place in order] + (ranked.rows[len(verdicts) :] if None in kept else [])
    verified = summary_of(verdicts, len(ranked)) if verdicts else None
    return Ordered(replace(ranked, rows=rows), [verdicts[place] for place in order], verified=verified)


def order_of(hit: Hit) -> Order:
    """Return a key that sorts the hits of several searches as if they were hits of one."""
    return rank_key(hit.match == "exact", hit.verdict == "match", hit.probability or 0.0, hit.raw)


def rank_key(exact: bool, likely: bool, probability: float, raw: float) -> Order:
    """Sorts results: occurrences of the query's own words, likely matches, and others; each by :func:`blended`.

    >>> rank_key(False, True, 0.6, 0.7) < rank_key(False, False, 0.4, 0.9) < rank_key(False, False, 0.1, 0.93)
    True
    """
    return not exact, not likely, -blended(probability, raw)


def blended(probability: float, raw: float) -> float:
    """The combined score of search and verification; for a hit that was not read, the score of the search."""
    return raw + _BESIDE_RAW * probability


def with_verdict(hit: AnyHit, verdict: JudgedClause | None, unit: OffsetUnit) -> AnyHit:
    """Return a hit with its verdict, and the clause that was read of it.

    A match is not marked as negated: the rules for negations see less of what a clause says than the verdict does.
    """
    if verdict is None:
        return hit
    judgement = verdict.judgement
    return replace(
        hit,
        probability=judgement.probability,
        verdict=judgement.verdict,
        differs=judgement.differs or None,
        polarity=None if judgement.verdict == "match" else hit.polarity,
        clause=TextSpan.at(verdict.clause.place, verdict.clause.span, unit),
    )


def summary_of(read: Sequence[JudgedClause], found: int) -> Verified:
    """The numbers of read and of likely results of a search that found ``found`` results."""
    likely = sum(verdict.judgement.is_likely for verdict in read)
    return Verified(len(read), likely, len(read) == found or likely + _UNLIKELY <= len(read))
