"""Span retrieval: what the search finds for queries in a corpus, beside BM25 and sentences that are read alone.

Both rank sentences: they are given the borders that the search has to find.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from jaxtyping import Float32, Int

from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.encoders.encoders import Encoders
from app.recipes import Choice
from app.requests import Boundaries, ModeName, Ranking, SearchRequest, SpanChoice
from app.search.answers import Hit
from app.search.mode import AnyMode, available_mode, load_modes
from app.search.service import SearchService
from app.search.verification.ordering import order_of
from indexer.engine.query import Filter, Grouping
from indexer.indexing.pipeline import IndexJob
from indexer.representations.registry import representations
from indexer.types import Recipe
from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.text.words import Language
from models.types import CharSpan, QueryVectors, SpanBounds
from research.evaluation.bm25 import Bm25
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.retrieval_metrics import TOP, TOP_DOCUMENTS, Ranked
from research.evaluation.searching import COLLECTION, scratch_store, search_in_batches
from research.evaluation.texts import encode_texts

# Documents are indexed with their own id as metadata, so that the search's filter can keep to some of them.
OWN_ID = "document_id"


@dataclass(frozen=True, slots=True)
class Setup:
    """Options of indexing and searching a corpus. Mode maxsim needs a ``nugget_ratio``.

    The second look reads so many of the best hits as ``verify`` says.
    """

    encoder: str
    bounds: SpanBounds
    mode: ModeName = "best_span"
    ranking: Ranking = "span_score"
    boundaries: Boundaries = "any"
    nugget_ratio: float | None = None
    stemming: Language | None = None
    verify: int = 0

    def collection(self, texts: Iterable[str]) -> CollectionOptions:
        """The collection to create for documents with these texts."""
        stored: dict[str, Choice] = {self.mode: {}} if self.mode in representations() else {}
        if self.nugget_ratio is not None:
            stored["nuggets"] = {"ratio": self.nugget_ratio}
        shortest, longest = self.bounds.shortest, self.bounds.longest
        return CollectionOptions(self.encoder, shortest, longest, texts, representations=stored)

    def request(self, text: str, filter: Filter, top_k: int, group_by: Grouping | None) -> SearchRequest:
        """The request for a text; ``ranking`` and ``boundaries`` apply to modes whose hits are spans."""
        return SearchRequest(
            COLLECTION,
            text=text,
            mode=self.mode,
            top_k=top_k,
            group_by=group_by,
            filter=filter,
            ranking=self.ranking,
            stemming=self.stemming,
            verify=self.verify,
            spans=SpanChoice(boundaries=self.boundaries),
        )


def search_answers(corpus: Corpus, queries: Sequence[Query], encoders: Encoders, setup: Setup) -> list[Ranked]:
    """The results of the search for every query, once the corpus is indexed.

    Raises ``InvalidInput`` for a query that the mode cannot read, and ``ModeUnavailable``, before anything is indexed.
    """
    with indexed(corpus, queries, encoders, setup) as service:
        spans = best_hits(service, queries, setup, TOP, None)
        documents = best_hits(service, queries, setup, TOP_DOCUMENTS, "document")
        return [
            Ranked(of_query, tuple(span.document_id for span in of_documents))
            for of_query, of_documents in zip(spans, documents, strict=True)
        ]


@contextmanager
def indexed(corpus: Corpus, queries: Sequence[Query], encoders: Encoders, setup: Setup) -> Iterator[SearchService]:
    """A search of the indexed corpus. Raises as :func:`search_answers`, before anything is indexed."""
    with scratch_store() as store:
        service = SearchService(store, load_modes(encoders), encoders.verifier)
        texts = (document.text for document in corpus.documents.values())
        collections = CollectionService(store, encoders, default_encoder=setup.encoder)
        target = collections.create(COLLECTION, setup.collection(texts)).collection
        mode = available_mode(service.modes, setup.mode, COLLECTION, target.recipe)
        for query in queries:
            _refuse_unreadable(mode, setup, query, target.recipe)
        marked = (replace(document, metadata={OWN_ID: id}) for id, document in corpus.documents.items())
        encoder, forward = encoders.load(setup.encoder), encoders.forward_pass(target.recipe)
        IndexJob(store, encoder, target, forward=forward).run(marked)
        yield service


def _refuse_unreadable(mode: AnyMode, setup: Setup, query: Query, recipe: Recipe) -> None:
    try:
        mode.read(setup.request(query.text, Filter(), TOP, None), recipe)
    except InvalidInput as error:
        raise InvalidInput(f"Query {query.id}: {error}", hint=error.hint, field="queries") from error


def best_hits(
    service: SearchService, queries: Sequence[Query], setup: Setup, top_k: int, group_by: Grouping | None
) -> list[list[DocumentSpan]]:
    """The best hits of every query. Those of several requests are put into the order that one answer has."""
    filters = [_filters(query) for query in queries]
    requests = [
        replace(setup.request(query.text, filter_, top_k, group_by), verify=-(-setup.verify // len(of_query)))
        for query, of_query in zip(queries, filters, strict=True)
        for filter_ in of_query
    ]
    answers = search_in_batches(service, requests)
    return [_best([next(answers) for _ in of_query], top_k) for of_query in filters]


def _filters(query: Query) -> list[Filter]:
    """No filter, or one for each of the documents to search: a filter wants one value of a key."""
    return [Filter({OWN_ID: id}) for id in query.within] or [Filter()]


def _best(answers: Sequence[Sequence[Hit]], top_k: int) -> list[DocumentSpan]:
    hits = sorted(chain.from_iterable(answers), key=lambda hit: (*order_of(hit), hit.document_id, hit.start))
    return [span_of(hit) for hit in (hits if len(answers) > 1 else answers[0])[:top_k]]


def span_of(hit: Hit) -> DocumentSpan:
    """Span of a hit in its document."""
    return DocumentSpan(hit.document_id, CharSpan(hit.start, hit.end))


def bm25_answers(corpus: Corpus, spans: Iterable[DocumentSpan], queries: Sequence[Query]) -> list[Ranked]:
    """The results of BM25 over spans of the corpus.

    >>> from models.types import Document, Part
    >>> corpus = Corpus([Document("a", (Part("Red car. Blue car."),)), Document("b", (Part("No car."),))])
    >>> queries = [Query("1", "the blue car", gold=()), Query("2", "car", gold=(), within=("b",))]
    >>> results = bm25_answers(corpus, corpus.sentences(), queries)
    >>> [[corpus.text(span) for span in ranked.spans] for ranked in results]
    [['Blue car.', 'No car.', 'Red car.'], ['No car.']]
    >>> results[0].documents
    ('a', 'b')
    """
    places = list(spans)
    index = Bm25([corpus.text(place) for place in places])
    rows = _rows(corpus, places)
    best = (index.best(query.text, len(places), _among(query, rows)) for query in queries)
    return [Ranked.of([places[row] for row in best_rows]) for best_rows in best]


def sentence_answers(
    corpus: Corpus, spans: Iterable[DocumentSpan], queries: Sequence[Query], encoder: Encoder
) -> list[Ranked]:
    """The results of an encoder that reads every one of these spans alone, a forward pass each.

    Spans that no forward pass can read whole, or that hold no words, are left out.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import Document, Part
    >>> corpus = Corpus([Document("a", (Part("Red car. Blue car."),)), Document("b", (Part("No car."),))])
    >>> queries = [Query("1", "blue car", gold=()), Query("2", "car", gold=(), within=("b",))]
    >>> first, second = sentence_answers(corpus, corpus.sentences(), queries, HashingEncoder())
    >>> corpus.text(first.spans[0]), [corpus.text(span) for span in second.spans]
    ('Blue car.', ['No car.'])
    """
    places = [place for place in spans if _is_readable(encoder, corpus.text(place))]
    vectors = encode_texts(encoder, [corpus.text(place) for place in places])
    query_vectors = encode_texts(encoder, [query.text for query in queries])
    rows = _rows(corpus, places)
    best = (
        _nearest(vectors, vector, _among(query, rows)) for query, vector in zip(queries, query_vectors, strict=True)
    )
    return [Ranked.of([places[row] for row in best_rows]) for best_rows in best]


def _is_readable(encoder: Encoder, text: str) -> bool:
    """True if a text holds words, and no more than one forward pass reads."""
    (tokens,) = encoder.tokenize([text])
    return 0 < len(tokens.ids) <= encoder.window


def _nearest(
    vectors: QueryVectors, query: Float32[np.ndarray, " dim"], among: Int[np.ndarray, " rows"] | None
) -> list[int]:
    """The numbers of the vectors by falling cosine, of equals the first."""
    rows = np.arange(len(vectors)) if among is None else among
    return [int(row) for row in rows[np.argsort(-(vectors[rows] @ query), kind="stable")]]


def _rows(corpus: Corpus, places: Sequence[DocumentSpan]) -> dict[str, list[int]]:
    """The numbers of the spans of every document."""
    rows: dict[str, list[int]] = {id: [] for id in corpus.documents}
    for row, place in enumerate(places):
        rows[place.document_id].append(row)
    return rows


def _among(query: Query, rows: Mapping[str, Sequence[int]]) -> Int[np.ndarray, " rows"] | None:
    """The spans that a query may find; None where it may find any."""
    return np.array([row for id in query.within for row in rows[id]], int) if query.within else None
