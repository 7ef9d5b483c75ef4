"""Retrieval of turns with weights for the words of a phrase: importance by facets (eq. 6), frequency, or both.

    python -m research.evaluation.query_weights --data DATA

The query of a best-span search is the mean of its units' vectors. Here it is a weighted mean: by the importance of the
unit's word for the facets of the phrase, by ``alpha / (alpha + p)``, or by their product; words that the word vectors
do not have weigh 1, the mean of the others. Turns of MultiDoGO by the name of their intent, on the development split.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float, Int32

from app.cli.console import print_json
from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search import literal
from app.search.modes.best_span import BestSpan
from app.search.span_queries import SpanQuery
from app.settings import Settings
from indexer.engine.query import EVERYTHING, Selection
from indexer.engine.snapshot import Snapshot
from indexer.indexing.pipeline import IndexJob
from indexer.words.literal import Terms
from models.encoders.base import Encoder, tokenize_units
from models.ops.pooling import pool
from models.ops.similarity import normalize
from models.text.tokens import unit_shares
from models.types import CharSpans, Document, Part, QueryVectors
from research.evaluation.intents import read_intents
from research.evaluation.searching import COLLECTION, scratch_store
from research.evaluation.topical_retrieval import Scores, Topics, gain, measure_topics
from research.evaluation.unit_weights import UnitWeights, unit_weights
from spanseek_facets.scores import frequency_weights, importance
from spanseek_facets.shipped import Facets

WEIGHTINGS: Final = ("uniform", "importance", "root of importance", "frequency", "importance and frequency")


def weights_of(units: CharSpans, text: str, facets: Facets, weighting: str) -> UnitWeights:
    """The weights of the units of a phrase; the mean of those with known words is 1."""
    return unit_weights(facets.words, text, units, lambda ids: _weights(ids, text, facets, weighting))


def _weights(
    ids: Int32[np.ndarray, " words"], text: str, facets: Facets, weighting: str
) -> Float[np.ndarray, " words"]:
    vectors = facets.words
    important = importance(vectors.vectors[ids], facets.sentences.encode([text])[0])
    rare = frequency_weights(vectors.shares[ids])
    return {
        "uniform": np.ones(len(ids)),
        "importance": important,
        "root of importance": np.sqrt(important),
        "frequency": rare,
        "importance and frequency": important * rare,
    }[weighting]


def query_vectors(encoder: Encoder, texts: Sequence[str], facets: Facets, weighting: str) -> QueryVectors:
    """The weighted means of the unit vectors of phrases, of length 1."""
    vectors = []
    for text in texts:
        (units,) = tokenize_units(encoder, [text])
        (tokens,) = encoder.forward_query([units.tokens.ids])
        weights = weights_of(units.spans, text, facets, weighting)
        vectors.append((pool(tokens, *unit_shares(units, 0, len(units))) * weights[:, None]).sum(axis=0))
    return normalize(np.stack(vectors)).astype(np.float32)


def scores_of(
    mode: BestSpan, snapshot: Snapshot, queries: Sequence[SpanQuery], terms: Sequence[Terms], turns: int
) -> Scores:
    """The score of the best span of every turn, for every query."""
    scores = np.full((len(queries), turns), -1.0)
    for row, query, of_query in zip(scores, queries, terms, strict=True):
        counted = literal.count(snapshot, mode, query, of_query, None, Selection(EVERYTHING)).documents
        row[[int(counted.row(number).document_id) for number in range(len(counted.cosines))]] = counted.cosines
    return scores


def measure(topics: Topics, encoders: Encoders, encoder: str, facets: Facets) -> dict[str, dict[str, object]]:
    """Average precision and precision at 10 of every weighting, and the gain over uniform weights."""
    loaded = encoders.load(encoder)
    with scratch_store() as store:
        collections = CollectionService(store, encoders, default_encoder=encoder)
        collection = collections.create(COLLECTION, CollectionOptions(encoder, texts=topics.texts)).collection
        documents = (Document(str(number), (Part(text),)) for number, text in enumerate(topics.texts))
        IndexJob(store, loaded, collection, forward=encoders.forward_pass(collection.recipe)).run(documents)
        snapshot, mode = store.snapshot(COLLECTION), BestSpan(encoders)
        requests = [SearchRequest(COLLECTION, text=text) for text in topics.queries]
        queries = mode.encode([mode.read(request, snapshot.recipe) for request in requests], snapshot.recipe)
        terms = [literal.terms_of(mode, request, snapshot.recipe) for request in requests]
        figures = {}
        for weighting in WEIGHTINGS:
            vectors = query_vectors(loaded, topics.queries, facets, weighting)
            weighted = [replace(query, vector=vector) for query, vector in zip(queries, vectors, strict=True)]
            figures[weighting] = measure_topics(scores_of(mode, snapshot, weighted, terms, len(topics.texts)), topics)
    return {
        name: {
            "average_precision": round(row.average_precision, 4),
            "precision_at_10": round(row.precision_at_10, 4),
            "gain": asdict(gain(row, figures["uniform"])),
        }
        for name, row in figures.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the known sets, with MultiDoGO in multidogo/"
    )
    parser.add_argument("--encoder", help="by default that of the settings")
    given = parser.parse_args()
    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    topics = read_intents(given.data, "dev")
    facets = encoders.shared(Facets)
    print_json(measure(topics, encoders, given.encoder or settings.encoder, facets))


if __name__ == "__main__":
    main()
