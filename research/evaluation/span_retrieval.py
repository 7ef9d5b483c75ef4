"""Span retrieval: what the search finds for queries in a corpus, beside BM25 and sentences that are read alone.

Both rank sentences: they are given the borders that the search has to find.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from jaxtyping import Float32, Int

from app.search.types import Boundaries, Hit, SearchRequest, SpanChoice
from indexer.engine.query import Filter
from models.encoders.base import Encoder, check_query
from models.errors import InvalidInput
from models.ops.span_score import COSINE, SpanScore
from models.types import CharSpan, QueryVectors, SpanBounds
from research.evaluation.bm25 import Bm25
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.retrieval_metrics import TOP
from research.evaluation.searching import COLLECTION, index_and_search
from research.evaluation.texts import encode_texts

# Documents are indexed with their own id as metadata, so that the search's filter can keep to some of them.
_OWN_ID = "document_id"


def search_answers(
    corpus: Corpus,
    queries: Sequence[Query],
    encoder: Encoder,
    bounds: SpanBounds,
    span_score: SpanScore = COSINE,
    boundaries: Boundaries = "any",
) -> list[list[DocumentSpan]]:
    """What the search by the span score finds, once the corpus is indexed: at most ``TOP`` spans a query, best first.

    Raises ``InvalidInput`` for a query that the encoder cannot read whole, before anything is indexed.
    """
    for query in queries:
        _refuse_unreadable(encoder, query)
    marked = (replace(document, metadata={_OWN_ID: id}) for id, document in corpus.documents.items())
    requests = [_requests(query, boundaries) for query in queries]
    answers = iter(index_and_search(marked, encoder, bounds, list(chain.from_iterable(requests)), span_score))
    return [_best([next(answers) for _ in of_query]) for of_query in requests]


def _refuse_unreadable(encoder: Encoder, query: Query) -> None:
    try:
        check_query(encoder, query.text)
    except InvalidInput as error:
        raise InvalidInput(f"Query {query.id}: {error}", hint=error.hint, field="queries") from error


def _requests(query: Query, boundaries: Boundaries) -> list[SearchRequest]:
    """One request, or one for each of the documents to search: a filter wants one value of a key."""
    filters = [Filter({_OWN_ID: id}) for id in query.within] or [Filter()]
    spans = SpanChoice(boundaries=boundaries)
    return [SearchRequest(COLLECTION, text=query.text, top_k=TOP, filter=filter_, spans=spans) for filter_ in filters]


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
    rows = _rows(corpus, places)
    return [[places[row] for row in index.best(query.text, TOP, _among(query, rows))] for query in queries]


def sentence_answers(
    corpus: Corpus, spans: Iterable[DocumentSpan], queries: Sequence[Query], encoder: Encoder
) -> list[list[DocumentSpan]]:
    """What an encoder finds that reads every one of these spans alone, a forward pass each: at most ``TOP`` a query.

    Spans that no forward pass can read whole, or that hold no words, are left out.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import Document, Part
    >>> corpus = Corpus([Document("a", (Part("Red car. Blue car."),)), Document("b", (Part("No car."),))])
    >>> queries = [Query("1", "blue car", gold=()), Query("2", "car", gold=(), within=("b",))]
    >>> found = sentence_answers(corpus, corpus.sentences(), queries, HashingEncoder())
    >>> corpus.text(found[0][0]), [corpus.text(each) for each in found[1]]
    ('Blue car.', ['No car.'])
    """
    places = [place for place in spans if _is_readable(encoder, corpus.text(place))]
    vectors = encode_texts(encoder, [corpus.text(place) for place in places])
    query_vectors = encode_texts(encoder, [query.text for query in queries])
    rows = _rows(corpus, places)
    best = [
        _nearest(vectors, vector, _among(query, rows)) for query, vector in zip(queries, query_vectors, strict=True)
    ]
    return [[places[row] for row in best_rows] for best_rows in best]


def _is_readable(encoder: Encoder, text: str) -> bool:
    """Whether a text holds words, and no more than one forward pass reads."""
    (tokens,) = encoder.tokenize([text])
    return 0 < len(tokens.ids) <= encoder.window


def _nearest(
    vectors: QueryVectors, query: Float32[np.ndarray, " dim"], among: Int[np.ndarray, " rows"] | None
) -> list[int]:
    """The numbers of the ``TOP`` vectors of largest cosine, of equals the first."""
    rows = np.arange(len(vectors)) if among is None else among
    return [int(row) for row in rows[np.argsort(-(vectors[rows] @ query), kind="stable")[:TOP]]]


def _rows(corpus: Corpus, places: Sequence[DocumentSpan]) -> dict[str, list[int]]:
    """The numbers of the spans of every document."""
    rows: dict[str, list[int]] = {id: [] for id in corpus.documents}
    for row, place in enumerate(places):
        rows[place.document_id].append(row)
    return rows


def _among(query: Query, rows: Mapping[str, Sequence[int]]) -> Int[np.ndarray, " rows"] | None:
    """The spans that a query may find; None where it may find any."""
    return np.array([row for id in query.within for row in rows[id]], int) if query.within else None
