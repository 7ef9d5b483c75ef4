"""Retrieval by topic with search modes: the score of every turn, as a search without a limit has it."""

from collections.abc import Sequence

import numpy as np

from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.encoders.encoders import Encoders
from app.recipes import Choice
from app.requests import ModeName, SearchRequest
from app.search import literal
from app.search.mode import available_mode, load_modes
from app.search.reading import read_request
from indexer.engine.query import EVERYTHING, Selection
from indexer.indexing.pipeline import IndexJob
from models.types import Document, Part, SpanBounds
from research.evaluation.searching import COLLECTION, scratch_store
from research.evaluation.topical_retrieval import Scores, Topics


def mode_scores(
    encoders: Encoders, encoder: str, modes: Sequence[ModeName], topics: Topics, bounds: SpanBounds
) -> dict[str, Scores]:
    """The score of the best result of every turn in each mode; -1 for a turn without one.

    >>> from models.encoders.hashing import HashingEncoder
    >>> encoders = Encoders.of({"hashing": HashingEncoder()})
    >>> topics = Topics(["a red car", "snow"], ["car"], np.array([[True, False]]), ["cars"])
    >>> scores = mode_scores(encoders, "hashing", ["lexical"], topics, SpanBounds())
    >>> scores["lexical"].tolist()
    [[1.0, -1.0]]
    """
    with scratch_store() as store:
        stored: dict[str, Choice] = {"facets": {}} if "facets" in modes else {}
        options = CollectionOptions(
            encoder, bounds.shortest, bounds.longest, texts=topics.texts, representations=stored
        )
        collection = CollectionService(store, encoders, default_encoder=encoder).create(COLLECTION, options).collection
        forward = encoders.forward_pass(collection.recipe)
        documents = (Document(str(number), (Part(text),)) for number, text in enumerate(topics.texts))
        IndexJob(store, encoders.load(encoder), collection, forward=forward).run(documents)
        snapshot, loaded = store.snapshot(COLLECTION), load_modes(encoders)
        scores: dict[str, Scores] = {}
        for name in modes:
            mode = available_mode(loaded, name, COLLECTION, snapshot.recipe)
            requests = [SearchRequest(COLLECTION, text=query, mode=name) for query in topics.queries]
            queries = mode.encode(
                [read_request(mode, request, snapshot.recipe) for request in requests], snapshot.recipe
            )
            rows = np.full((len(queries), len(topics.texts)), -1.0)
            terms = [literal.terms_of(mode, request, snapshot.recipe) for request in requests]
            for row, query, of_query in zip(rows, queries, terms, strict=True):
                counted = literal.count(snapshot, mode, query, of_query, None, Selection(EVERYTHING)).documents
                turns = [int(counted.row(number).document_id) for number in range(len(counted.cosines))]
                row[turns] = counted.cosines
            scores[name] = rows
        return scores
