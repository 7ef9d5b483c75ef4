"""Comparison of search modes by gold spans found: hybrid, best span, whole sentence, BM25 and the untrained encoder.

    python -m research.evaluation.mode_comparison --data documents.ndjson --queries queries.ndjson --out rows.ndjson

``spanseek eval convert`` makes the two files. Every ranking and query is a line of ``--out``, written in small
groups: a run that was interrupted goes on where it was, and one whose output is complete only computes the figures.
Gains of ``hybrid`` come with a paired bootstrap over queries. With ``--verify 20`` the rankings of the default encoder
are also measured behind the second look, with their gains over those without it.
"""

import argparse
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float

from app.cli.console import print_json
from app.encoders.encoders import Encoders
from app.requests import Boundaries, ModeName
from app.settings import Settings
from models.types import SpanBounds
from research.evaluation.corpus import Corpus, DocumentSpan, read_corpus
from research.evaluation.queries import Query, read_queries
from research.evaluation.retrieval_metrics import TOP, is_hit
from research.evaluation.scoring import at_same_place, is_right
from research.evaluation.significance import LEVEL, resample
from research.evaluation.span_retrieval import Setup, best_hits, bm25_answers, indexed

_GROUP: Final = 32
OURS: Final = "hybrid"
_UNTRAINED: Final = "untrained"


@dataclass(frozen=True, slots=True)
class Ranking:
    """A row of the comparison; its encoder is the default one unless given. ``verify`` hits take the second look."""

    name: str
    mode: ModeName
    boundaries: Boundaries
    encoder: str | None = None
    verify: int = 0


RANKINGS: Final = (
    Ranking(OURS, "hybrid", "sentence"),
    Ranking("best_span", "best_span", "any"),
    Ranking("best_span_sentence", "best_span", "sentence"),
    Ranking("lexical", "lexical", "sentence"),
    Ranking("untrained", "best_span", "any", _UNTRAINED),
    Ranking("untrained_sentence", "best_span", "sentence", _UNTRAINED),
)


BM25: Final = "bm25"
# What stands in the name of a ranking behind the second look before the number of hits that are read.
VERIFIED: Final = "_verified_"


@dataclass(frozen=True, slots=True)
class Options:
    """The encoder of the rankings that name none, the bounds of indexed spans, and which rankings are measured."""

    encoder: str
    bounds: SpanBounds
    verify: int = 0
    names: tuple[str, ...] = ()

    def rankings(self) -> tuple[Ranking, ...]:
        """The rankings, those of an encoder together.

        >>> from models.types import SpanBounds
        >>> [each.name for each in Options("slice", SpanBounds(), 20, ("best_span_verified_20", "lexical")).rankings()]
        ['lexical', 'best_span_verified_20']
        """
        ours = [each for each in RANKINGS if each.encoder is None]
        read = [
            replace(each, name=f"{each.name}{VERIFIED}{self.verify}", verify=self.verify)
            for each in (ours if self.verify else ())
        ]
        rankings = (*ours, *read, *(each for each in RANKINGS if each.encoder is not None))
        return tuple(each for each in rankings if self.wants(each.name))

    def wants(self, name: str) -> bool:
        """True if the ranking is measured: all are, unless some are named."""
        return not self.names or name in self.names


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a ranking: if a right hit is first, and if one at the right place is among ten."""

    ranking: str
    query: str
    top1: bool
    place10: bool


def outcome(corpus: Corpus, ranking: str, query: Query, hits: Sequence[DocumentSpan]) -> Outcome:
    """The outcome of one query.

    >>> from models.types import CharSpan, Document, Part
    >>> corpus = Corpus([Document("a", (Part("Red car. Blue car."),))])
    >>> first, second = (DocumentSpan("a", CharSpan(*span)) for span in ((0, 8), (9, 18)))
    >>> outcome(corpus, "bm25", Query("1", "blue car", gold=(second,)), [first, second])
    Outcome(ranking='bm25', query='1', top1=False, place10=True)
    """
    return Outcome(
        ranking,
        query.id,
        any(is_hit(corpus, hit, query.gold, is_right) for hit in hits[:1]),
        any(is_hit(corpus, hit, query.gold, at_same_place) for hit in hits[:TOP]),
    )


def outcomes(
    corpus: Corpus, queries: Sequence[Query], encoders: Encoders, options: Options, done: Collection[tuple[str, str]]
) -> Iterator[list[Outcome]]:
    """The outcomes of all rankings, a group of queries at a time; every encoder indexes once.

    ``done`` has the rankings and ids of queries to leave out.
    """
    if options.wants(BM25):
        pairs = zip(queries, bm25_answers(corpus, corpus.sentences(), queries), strict=True)
        yield [outcome(corpus, BM25, query, each.spans) for query, each in pairs if (BM25, query.id) not in done]
    for encoder, of_encoder in groupby(options.rankings(), key=lambda each: each.encoder or options.encoder):
        left = {each: [query for query in queries if (each.name, query.id) not in done] for each in of_encoder}
        if not any(left.values()):
            continue
        setups = {
            each: Setup(encoder, options.bounds, each.mode, boundaries=each.boundaries, verify=each.verify)
            for each in left
        }
        with indexed(corpus, queries, encoders, next(iter(setups.values()))) as service:
            for ranking, of_ranking in left.items():
                for begin in range(0, len(of_ranking), _GROUP):
                    group = of_ranking[begin : begin + _GROUP]
                    hits = best_hits(service, group, setups[ranking], TOP, None)
                    found = zip(group, hits, strict=True)
                    yield [outcome(corpus, ranking.name, query, each) for query, each in found]


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of one ranking over another, its one-sided 95 % lower bound, and the share of positive resamples."""

    difference: float
    lower: float
    positive: float


def gain(ours: Float[np.ndarray, " queries"], theirs: Float[np.ndarray, " queries"]) -> Gain:
    """The paired bootstrap over queries.

    >>> gain(np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0]))
    Gain(difference=1.0, lower=1.0, positive=1.0)
    """
    paired = ours - theirs
    means = np.concatenate([block @ paired / len(paired) for block in resample(len(paired), 10_000)])
    return Gain(
        round(float(paired.mean()), 4), round(float(np.quantile(means, LEVEL)), 4), round(float((means > 0).mean()), 4)
    )


def compared(rows: Sequence[Outcome]) -> dict[str, dict[str, object]]:
    """The figures of every complete ranking, the gains of ``hybrid`` over each, and those of the second look."""
    values: dict[str, dict[str, Outcome]] = {}
    for row in rows:
        values.setdefault(row.ranking, {})[row.query] = row
    ids = sorted({row.query for row in rows})
    complete = {name: [by_id[id] for id in ids] for name, by_id in values.items() if len(by_id) == len(ids)}
    columns = {
        name: {
            "top1": np.array([row.top1 for row in of_name], float),
            "place10": np.array([row.place10 for row in of_name], float),
        }
        for name, of_name in complete.items()
    }
    report: dict[str, dict[str, object]] = {}
    for name, of_figures in columns.items():
        report[name] = {figure: round(float(column.mean()), 4) for figure, column in of_figures.items()}
        if name != OURS and OURS in columns:
            gains = {figure: gain(columns[OURS][figure], column) for figure, column in of_figures.items()}
            report[name] |= {f"{OURS}_{figure}_gain": asdict(each) for figure, each in gains.items()}
        first, verified, _ = name.partition(VERIFIED)
        if verified and (before := columns.get(first)):
            report[name] |= {f"{each}_gain": asdict(gain(column, before[each])) for each, column in of_figures.items()}
    return report


def read_outcomes(path: Path) -> list[Outcome]:
    """The outcomes of a file; none if there is no such file."""
    return [Outcome(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="documents, as `spanseek index` takes them")
    parser.add_argument("--queries", type=Path, required=True, help="queries with gold spans")
    parser.add_argument("--out", type=Path, required=True, help="file of outcomes, which is continued")
    parser.add_argument("--encoder", help="by default that of the settings")
    parser.add_argument("--min-span", type=int, default=5)
    parser.add_argument("--max-span", type=int, default=40)
    parser.add_argument("--verify", type=int, default=0, help="also with so many hits read by the second look")
    parser.add_argument("--ranking", action="append", default=[], help="measure this one; repeat for several")
    given = parser.parse_args()
    settings = Settings()
    options = Options(
        given.encoder or settings.encoder,
        SpanBounds(given.min_span, given.max_span),
        given.verify,
        tuple(given.ranking),
    )
    possible = {BM25, *(each.name for each in replace(options, names=()).rankings())}
    if unknown := set(given.ranking) - possible:
        parser.error(f"There is no ranking {sorted(unknown)[0]}; there are {', '.join(sorted(possible))}.")
    corpus = read_corpus(given.data)
    queries = read_queries(given.queries, corpus)
    done = {(row.ranking, row.query) for row in read_outcomes(given.out)}
    with given.out.open("a") as file:
        for group in outcomes(corpus, queries, Encoders(settings.encoder_options), options, done):
            file.writelines(json.dumps(asdict(row)) + "\n" for row in group)
            file.flush()
    print_json({"queries": len(queries), "rankings": compared(read_outcomes(given.out))})


if __name__ == "__main__":
    main()
