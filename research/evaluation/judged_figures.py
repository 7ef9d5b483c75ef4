"""Quality of the first hits of a ranking, by the grades of a judged set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np

from research.evaluation.contrast import Half, half_of
from research.evaluation.corpus import Corpus
from research.evaluation.judged import RELEVANT, JudgedSet, Judgement
from research.evaluation.judged_rankings import Found, Ranking
from research.evaluation.significance import Gain, mean_gain

TOP: Final = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """The first five hits of a query.

    ``relevant`` of the ``possible`` places that say the phrase, at most five, are among them. A hit is ``wrong`` by
    grade 0, ``near`` by grade 1; it is unmarked if the answer does not call it unlikely. ``marked_right`` counts hits
    that say the phrase and are called unlikely. ``first``: the first hit says the phrase.
    """

    query: str
    shown: int
    relevant: int
    possible: int
    first: bool
    wrong: int
    unmarked_wrong: int
    unmarked_near: int
    marked_right: int
    unjudged: int


@dataclass(frozen=True, slots=True)
class JudgedFigures:
    """Sums over queries.

    ``answered`` queries have a place that says them: ``first`` counts those whose first hit does, and ``share`` is the
    mean of their shares of what was possible. ``silent`` of the ``unanswered`` have no unmarked hit among five.
    """

    shown: int
    relevant: int
    possible: int
    share: float
    first: int
    answered: int
    wrong: int
    unmarked_wrong: int
    unmarked_near: int
    marked_right: int
    silent: int
    unanswered: int
    unjudged: int


def outcomes(judged: JudgedSet, corpus: Corpus, ranking: Ranking) -> list[Outcome]:
    """The outcome of every query, in order."""
    return [_outcome(judged, corpus, query.id, ranking[query.id][:TOP]) for query in judged.queries]


def _outcome(judged: JudgedSet, corpus: Corpus, query: str, hits: Sequence[Found]) -> Outcome:
    of_hits = [judged.judged(corpus, query, hit.place) for hit in hits]
    grades = [max((each.grade for each in of_hit), default=None) for of_hit in of_hits]
    unmarked = [grade for grade, hit in zip(grades, hits, strict=True) if not hit.unlikely]
    possible = sum(each.grade == RELEVANT for each in judged.judgements[query])
    return Outcome(
        query,
        shown=len(hits),
        relevant=min(TOP, len(set(_relevant(of_hits)))),
        possible=min(TOP, possible),
        first=grades[:1] == [RELEVANT],
        wrong=grades.count(0),
        unmarked_wrong=unmarked.count(0),
        unmarked_near=unmarked.count(1),
        marked_right=grades.count(RELEVANT) - unmarked.count(RELEVANT),
        unjudged=grades.count(None),
    )


def _relevant(of_hits: Sequence[Sequence[Judgement]]) -> Iterator[Judgement]:
    """Places that say the phrase: of a hit that is at several the first counts."""
    for of_hit in of_hits:
        yield from [each for each in of_hit if each.grade == RELEVANT][:1]


def of_half(rows: Sequence[Outcome], half: Half) -> list[Outcome]:
    """The outcomes of the queries of one half, or of all."""
    return [row for row in rows if half in ("all", half_of(row.query))]


def figures(rows: Sequence[Outcome]) -> JudgedFigures:
    """The figures of some queries."""
    shares = [each for row in rows if (each := share(row)) is not None]
    silent = [row for row in rows if not row.possible and row.unmarked_wrong + row.unmarked_near + row.unjudged == 0]
    return JudgedFigures(
        shown=sum(row.shown for row in rows),
        relevant=sum(row.relevant for row in rows),
        possible=sum(row.possible for row in rows),
        share=round(fmean(shares), 4) if shares else 0.0,
        first=sum(row.first for row in rows),
        answered=len(shares),
        wrong=sum(row.wrong for row in rows),
        unmarked_wrong=sum(row.unmarked_wrong for row in rows),
        unmarked_near=sum(row.unmarked_near for row in rows),
        marked_right=sum(row.marked_right for row in rows),
        silent=len(silent),
        unanswered=len(rows) - len(shares),
        unjudged=sum(row.unjudged for row in rows),
    )


def share(outcome: Outcome) -> float | None:
    """The share of what was possible; None if nothing says the phrase."""
    return outcome.relevant / outcome.possible if outcome.possible else None


def unmarked(outcome: Outcome) -> float:
    """Wrong hits that the answer does not call unlikely, of five."""
    return outcome.unmarked_wrong / TOP


def gains(
    rows: Mapping[str, Sequence[Outcome]], over: str, value: Callable[[Outcome], float | None] = share
) -> dict[str, Gain]:
    """Gains in a value over one of the rankings, by a paired bootstrap over the queries that have it.

    Empty if none has it.
    """
    values = {name: [each for row in of_name if (each := value(row)) is not None] for name, of_name in rows.items()}
    return {
        name: mean_gain(np.array(of_name), np.array(values[over]))
        for name, of_name in values.items()
        if name != over and of_name
    }
