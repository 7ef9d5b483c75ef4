"""Span retrieval: what the search, and BM25, find for queries in a corpus.

BM25 ranks sentences, which are its spans. So it is told where sentences begin and end; the search has to find out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from app.evaluation.bm25 import Bm25
from app.evaluation.corpus import Corpus, DocumentSpan
from app.evaluation.queries import Query
from app.evaluation.retrieval_figures import TOP
from app.evaluation.searching import COLLECTION, index_and_search
from app.search.types import Hit, SearchRequest
from indexer.engine.wanted import Filter
from models.encoders.base import Encoder, check_query
from models.errors import InvalidInput
from models.types import CharSpan, SpanBounds

# Documents are indexed with their own id as metadata, so that the search's filter can keep to some of them.
_OWN_ID = "document_id"


def search_answers(
    corpus: Corpus, queries: Sequence[Query], encoder: Encoder, bounds: SpanBounds
) -> list[list[DocumentSpan]]:
    """What the search finds, once the corpus is indexed: at most ``TOP`` spans a query, best first.

    Raises ``InvalidInput`` for a query that the encoder cannot read whole, before anything is indexed.
    """
    for query in queries:
        _refuse_unreadable(encoder, query)
    marked = (replace(document, metadata={_OWN_ID: id}) for id, document in corpus.documents.items())
    requests = [_requests(query) for query in queries]
    answers = iter(index_and_search(marked, encoder, bounds, list(chain.from_iterable(requests))))
    return [_best([next(answers) for _ in of_query]) for of_query in requests]


def _refuse_unreadable(encoder: Encoder, query: Query) -> None:
    try:
        check_query(encoder, query.text)
    except InvalidInput as error:
        raise InvalidInput(f"Query {query.id}: {error}", hint=error.hint, field="queries") from error


def _requests(query: Query) -> list[SearchRequest]:
    """One request, or one for each of the documents to search: a filter wants one value of a key."""
    filters = [Filter({_OWN_ID: id}) for id in query.within] or [Filter()]
    return [SearchRequest(COLLECTION, text=query.text, top_k=TOP, filter=wanted) for wanted in filters]


def _best(answers: Iterable[Sequence[Hit]]) -> list[DocumentSpan]:
    """The best hits of several answers, in the order that a single answer has."""
    hits = sorted(chain.from_iterable(answers), key=lambda hit: (-hit.raw, hit.document_id, hit.start))
    return [span_of(hit) for hit in hits[:TOP]]


def span_of(hit: Hit) -> DocumentSpan:
    """Where a hit stands."""
    return DocumentSpan(hit.document_id, CharSpan(hit.start, hit.end))


def bm25_answers(corpus: Corpus, spans: Iterable[DocumentSpan], queries: Sequence[Query]) -> list[list[DocumentSpan]]:
    """What BM25 finds among spans of the corpus: at most ``TOP`` a query, best first.

    >>> from models.types import Document, Part
    >>> corpus = Corpus([Document("a", (Part("Red car. Blue car."),)), Document("b", (Part("No car."),))])
    >>> queries = [Query("1", "the blue car", gold=()), Query("2", "car", gold=(), within=("b",))]
    >>> [[corpus.text(found) for found in answer] for answer in bm25_answers(corpus, corpus.sentences(), queries)]
    [['Blue car.', 'No car.', 'Red car.'], ['No car.']]
    """
    places = list(spans)
    index = Bm25([corpus.text(place) for place in places])
    rows: dict[str, list[int]] = {id: [] for id in corpus.documents}
    for row, place in enumerate(places):
        rows[place.document_id].append(row)
    answers = []
    for query in queries:
        among = np.array([row for id in query.within for row in rows[id]], int) if query.within else None
        answers.append([places[row] for row in index.best(query.text, TOP, among)])
    return answers
