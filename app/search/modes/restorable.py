"""Mode ``restorable``: whole sentences by the part of their restorable vectors that is compared (ADR 20)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import Mode, SearchRequest
from app.search.mode import Counts, Resources, ScoredRows, SearchMode
from app.search.query_vectors import query_vector
from app.search.sentences import ALL, counts_of
from app.search.span_hits import present_spans
from app.search.types import Explanation, Hit
from indexer.engine.base import ScoredSpan
from indexer.engine.named_spans import NamedSpan
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.restorable.recipe import has_restorable, restorable_fingerprint
from indexer.restorable.representation import stored_restorable
from indexer.restorable.scan import SentenceQuery, cosines_of, count_sentences, search_sentences
from indexer.restorable.texts import rows_of
from indexer.tuning import Tuning
from indexer.types import Recipe
from models.errors import InvalidInput
from models.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query to be encoded: its text, and its sentences."""

    text: str
    sentences: tuple[str, ...]


class RestorableMode(SearchMode[TextQuery | SentenceQuery, SentenceQuery, ScoredSpan]):
    """Sentences by the cosine of their vector with the query's; documents by the best for each of its sentences."""

    name: Mode = "restorable"
    requirement = "Run `spanseek reindex --restorable` once, which adds the restorable vectors of its sentences."

    def __init__(self, encoders: Encoders) -> None:
        self._encoders = encoders

    def available(self, recipe: Recipe) -> bool:
        """True if the collection has restorable vectors."""
        return has_restorable(recipe)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the restorer."""
        return restorable_fingerprint(recipe)

    def load(self, recipe: Recipe) -> None:
        """Load the restorer."""
        self._encoders.warm_up_restorer(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> TextQuery | SentenceQuery:
        """Check a request. Hits are sentences."""
        if request.spans.boundary not in (None, "sentence"):
            raise InvalidInput(
                f"Hits of mode restorable are sentences, not whole {request.spans.boundary}s.",
                hint="Leave boundaries out, or search in mode best_span.",
                field="spans",
            )
        if request.query_units is not None:
            raise InvalidInput(
                "Mode restorable does not count the units of a query.",
                hint="Leave query_units out.",
                field="query_units",
            )
        if request.text is None:
            vector = query_vector(request, self._encoders.restored_texts(recipe).restorer.compared)
            return SentenceQuery(vector, vector[None])
        if not request.text.strip():
            raise InvalidInput("The query holds no words.", hint="Give at least one word.", field="text")
        return TextQuery(request.text, tuple(span.of(request.text) for span in sentence_spans(request.text)))

    def encode(self, queries: Sequence[TextQuery | SentenceQuery], recipe: Recipe) -> list[SentenceQuery]:
        """The vectors of every query and of its sentences, from one forward pass."""
        restorer = self._encoders.restored_texts(recipe).restorer
        texts = [text for query in queries if isinstance(query, TextQuery) for text in (query.text, *query.sentences)]
        vectors = dict(zip(texts, restorer.meanings(texts), strict=True)) if texts else {}
        return [
            SentenceQuery(vectors[query.text], np.stack([vectors[each] for each in query.sentences]))
            if isinstance(query, TextQuery)
            else query
            for query in queries
        ]

    def search(
        self, snapshot: Snapshot, queries: Sequence[SentenceQuery], selection: Selection
    ) -> list[list[ScoredSpan]]:
        """The best sentences for every query."""
        return [search_sentences(snapshot, query, selection) for query in queries]

    def count(self, snapshot: Snapshot, query: SentenceQuery, floor: float | None, selection: Selection) -> Counts:
        """Every document with its score, and the sentences above the floor."""
        by_document = Selection(ALL, None, "document", selection.filter, selection.lengths, selection.boundary)
        documents = counts_of(count_sentences(snapshot, query, by_document), None).documents
        if floor is None:
            return Counts(documents, None)
        spans: ScoredRows | None = counts_of(count_sentences(snapshot, query, selection), floor).spans
        return Counts(documents, spans)

    def readable(self, results: list[ScoredSpan]) -> list[ScoredSpan]:
        """The same spans; of a collection that does not store texts, at places that restore them."""
        return self._encoders.readable(results)

    def present(
        self, request: SearchRequest, query: SentenceQuery, results: list[ScoredSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits; a cosine of whole sentences has no parts to explain."""
        return present_spans(request, self.readable(results), tuning, lambda scored: Explanation(scored.cosine, ()))

    def text_cosines(
        self, queries: Sequence[SentenceQuery], texts: Sequence[SentenceQuery]
    ) -> Float[np.ndarray, " pairs"]:
        """The cosine of every query with a text of its own."""
        pairs = zip(queries, texts, strict=True)
        return np.array([min(1.0, float(query.vector @ text.vector)) for query, text in pairs], np.float64)

    def span_cosines(self, queries: Sequence[SentenceQuery], spans: Sequence[NamedSpan]) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        return np.array([_span_cosine(queries[span.query], span) for span in spans], np.float64)


def create(resources: Resources) -> SearchMode[TextQuery | SentenceQuery, SentenceQuery, ScoredSpan]:
    """The mode."""
    return RestorableMode(resources.encoders)


def _span_cosine(query: SentenceQuery, span: NamedSpan) -> float:
    segment = span.located.view.segment
    rows = rows_of(segment, span.units)
    stored = stored_restorable(segment).slice(rows[0].number, rows[-1].number + 1)
    return float(cosines_of(stored, query.vector[None]).max())
