"""Search for the best weights of mode hybrid's terms: gold spans by weights of words, and by reciprocal rank fusion.

    python -m research.evaluation.hybrid_weights --data documents.ndjson --queries queries.ndjson

``spanseek eval convert`` makes the two files. The best 100 sentences of every query, as the mode finds them, are ranked
anew from the terms of their explanations.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Bool, Float

from app.cli.console import print_json
from app.encoders.encoders import Encoders
from app.search.answers import Hit
from app.search.modes.hybrid.scorer import HybridExplanation, Weights
from app.search.service import SearchService
from app.settings import Settings
from indexer.engine.query import Filter
from models.text.words import words as folded
from models.types import SpanBounds
from research.evaluation.corpus import Corpus, read_corpus
from research.evaluation.queries import Query, read_queries
from research.evaluation.retrieval_metrics import TOP, is_hit
from research.evaluation.scoring import at_same_place, is_right
from research.evaluation.span_retrieval import OWN_ID, Setup, indexed, span_of

_CANDIDATES: Final = 100
_OF_WORDS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
_OF_PARTS: Final = (0.0, 0.3, 0.5, 0.7)
_RANK_CONSTANTS: Final = (10, 60)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best sentences of a query of so many words: their meaning, words and words of the part, and which are gold.

    ``exact`` sentences hold an occurrence of the query and rank first.
    """

    length: int
    meaning: Float[np.ndarray, " sentences"]
    words: Float[np.ndarray, " sentences"]
    of_part: Float[np.ndarray, " sentences"]
    exact: Bool[np.ndarray, " sentences"]
    right: Bool[np.ndarray, " sentences"]
    placed: Bool[np.ndarray, " sentences"]


def shipped(candidates: Candidates) -> Float[np.ndarray, " sentences"]:
    """The score with the weights of the mode."""
    weights = Weights.of(candidates.length)
    return weighed(candidates, weights.words, weights.of_part)


def weighed(candidates: Candidates, words: float, of_part: float) -> Float[np.ndarray, " sentences"]:
    """The score with these weights."""
    both = (1 - of_part) * candidates.words + of_part * candidates.of_part
    return (1 - words) * candidates.meaning + words * both


def fused(candidates: Candidates, constant: int) -> Float[np.ndarray, " sentences"]:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009) of meaning, words and words of the part."""
    columns = candidates.meaning, candidates.words, candidates.of_part
    ranks = (np.argsort(np.argsort(-column, kind="stable")) + 1 for column in columns)
    return np.asarray(sum(1 / (constant + rank) for rank in ranks))


def figures(candidates: Sequence[Candidates], scores: Sequence[Float[np.ndarray, " _sentences"]]) -> dict[str, float]:
    """The shares of queries with a right sentence first, and with one at the right place among ten.

    >>> row = np.array([0.5, 0.1])
    >>> some = Candidates(2, row, row, row, np.zeros(2, bool), np.array([True, False]), np.array([True, True]))
    >>> figures([some], [-row])
    {'top1': 0.0, 'place10': 1.0}
    """
    top1, place10 = [], []
    for each, score in zip(candidates, scores, strict=True):
        order = np.argsort(-np.where(each.exact, np.inf, score), kind="stable")[:TOP]
        top1.append(each.right[order[:1]].any())
        place10.append(each.placed[order].any())
    return {"top1": round(float(np.mean(top1)), 4), "place10": round(float(np.mean(place10)), 4)}


def _of_hits(corpus: Corpus, query: Query, hits: Sequence[Hit]) -> Candidates:
    terms = [{term.name: term for term in _explanation(hit).terms} for hit in hits]
    by_meaning = [[term for term in of_hit.values() if not term.name.startswith("words")] for of_hit in terms]
    words = np.array([of_hit["words"].value for of_hit in terms])
    of_part = np.array([of_hit.get("words_of_part", of_hit["words"]).value for of_hit in terms])
    weights = [sum(term.weight for term in each) for each in by_meaning]
    sums = [sum(term.weight * term.value for term in each) for each in by_meaning]
    meaning = np.array(sums) / np.array(weights)
    spans = [span_of(hit) for hit in hits]
    right, placed = (
        np.array([is_hit(corpus, span, query.gold, agrees) for span in spans], bool)
        for agrees in (is_right, at_same_place)
    )
    return Candidates(
        len(folded(query.text)),
        meaning,
        words,
        of_part,
        np.array([hit.match == "exact" for hit in hits], bool),
        right,
        placed,
    )


def _explanation(hit: Hit) -> HybridExplanation:
    if isinstance(hit.explanation, HybridExplanation):
        return hit.explanation
    raise AssertionError("hits of mode hybrid are explained")


def candidates_of(
    corpus: Corpus, queries: Sequence[Query], service: SearchService, setup: Setup
) -> Iterator[Candidates]:
    """The best sentences of every query, as the mode finds them."""
    for query in queries:
        hits: list[Hit] = []
        for filter in [Filter({OWN_ID: id}) for id in query.within] or [Filter()]:
            request = replace(setup.request(query.text, filter, _CANDIDATES, None), explain=True)
            hits += service.search(request)[0].hits
        yield _of_hits(corpus, query, hits)


def table(candidates: Sequence[Candidates]) -> dict[str, dict[str, float]]:
    """The figures of all weights, and of reciprocal rank fusion."""
    rows = {
        f"words {words:g}, of which of the part {of_part:g}": [weighed(each, words, of_part) for each in candidates]
        for words, of_part in product(_OF_WORDS, _OF_PARTS)
        if words or not of_part
    }
    rows["shipped, by the length of the query"] = [shipped(each) for each in candidates]
    rows |= {f"rank fusion {constant}": [fused(each, constant) for each in candidates] for constant in _RANK_CONSTANTS}
    return {name: figures(candidates, scores) for name, scores in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="documents, as `spanseek index` takes them")
    parser.add_argument("--queries", type=Path, required=True, help="queries with gold spans")
    parser.add_argument("--encoder", help="by default that of the settings")
    parser.add_argument("--min-span", type=int, default=5)
    parser.add_argument("--max-span", type=int, default=40)
    parser.add_argument("--stemming", help="a language")
    given = parser.parse_args()
    settings = Settings()
    corpus = read_corpus(given.data)
    queries = read_queries(given.queries, corpus)
    bounds = SpanBounds(given.min_span, given.max_span)
    encoder = given.encoder or settings.encoder
    setup = Setup(encoder, bounds, "hybrid", boundaries="sentence", stemming=given.stemming)
    with indexed(corpus, queries, Encoders(settings.encoder_options), setup) as service:
        found = list(candidates_of(corpus, queries, service, setup))
    print_json({"queries": len(queries), "rows": table(found)})


if __name__ == "__main__":
    main()
