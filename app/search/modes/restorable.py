"""Mode ``restorable``: whole sentences by the part of their restorable vectors that is compared (ADR 20)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.mode import Accepts, BatchQuery, Countable, Mode, Needs, Presented, Total
from app.search.modes.best_span import Explanation
from app.search.reading import query_vector
from indexer.engine.named_spans import NamedSpan
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.restorable.files import NAME, stored_restorable
from indexer.restorable.models import Restoring, fingerprint
from indexer.restorable.scan import SentenceCounts, SentenceQuery, SentenceScan, cosines_of
from indexer.restorable.texts import rows_of
from indexer.types import Recipe
from models.errors import InvalidInput
from models.text.borders import sentence_spans


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query to be encoded: its text, and its sentences."""

    text: str
    sentences: tuple[str, ...]


class SentenceHits(Presented[SentenceQuery]):
    """Whole sentences, explained by their cosine."""

    explanation = Explanation
    is_literal = False
    without_texts = "with group_by document, restorable ranks documents by MaxSim."

    def explain(self, request: SearchRequest, query: SentenceQuery, span: ScoredSpan, total: Total) -> Explanation:
        """The cosine alone: a whole sentence has no terms."""
        return Explanation(span.cosine, ())


class RestorableMode(Mode[TextQuery | SentenceQuery, SentenceQuery]):
    """Sentences by the cosine of their vector with the query's; documents by the best for each of its sentences."""

    name = "restorable"
    accepts = Accepts(vector=True, boundaries=("any", "sentence"))
    needs = Needs(NAME, "Run `spanseek reindex --restorable` once, which adds the restorable vectors of its sentences.")
    presented = SentenceHits()

    def __init__(self, encoders: Encoders) -> None:
        self._restoring = encoders.shared(Restoring)

    @property
    def countable(self) -> "SentenceCounting":
        """The counts and cosines of sentences."""
        return SentenceCounting(self)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the restorer."""
        return fingerprint(recipe)

    def load(self, recipe: Recipe) -> None:
        """Load the restorer."""
        self._restoring.matching(recipe).warm_up()

    def read(self, request: SearchRequest, recipe: Recipe) -> TextQuery | SentenceQuery:
        """Split a text into sentences, or normalize a vector."""
        if request.text is None:
            vector = query_vector(request, self._restoring.matching(recipe).restorer.compared)
            return SentenceQuery(vector, vector[None])
        if not request.text.strip():
            raise InvalidInput("The query holds no words.", hint="Give at least one word.", field="text")
        return TextQuery(
            request.text, tuple(span.of(request.text) for span in sentence_spans(request.text, recipe.text))
        )

    def encode(self, queries: Sequence[TextQuery | SentenceQuery], recipe: Recipe) -> list[SentenceQuery]:
        """The vectors of every query and of its sentences, from one forward pass."""
        restorer = self._restoring.matching(recipe).restorer
        texts = [text for query in queries if isinstance(query, TextQuery) for text in (query.text, *query.sentences)]
        vectors = dict(zip(texts, restorer.meanings(texts), strict=True)) if texts else {}
        return [
            SentenceQuery(vectors[query.text], np.stack([vectors[each] for each in query.sentences]))
            if isinstance(query, TextQuery)
            else query
            for query in queries
        ]

    def segment_query(self, snapshot: Snapshot, queries: Sequence[SentenceQuery], selection: Selection) -> BatchQuery:
        """The best sentences for every query."""
        return SentenceScan(tuple(queries))


class SentenceCounting(Countable[SentenceQuery]):
    """The counts and cosines of sentences."""

    def counting_query(
        self, snapshot: Snapshot, query: SentenceQuery, floor: float | None, selection: Selection
    ) -> BatchQuery:
        """Every document with its score, and the sentences above the floor."""
        return SentenceCounts(query, floor)

    def text_cosines(
        self, queries: Sequence[SentenceQuery], texts: Sequence[SentenceQuery]
    ) -> Float[np.ndarray, " pairs"]:
        """The cosine of every query with a text of its own."""
        pairs = zip(queries, texts, strict=True)
        return np.array([min(1.0, float(query.vector @ text.vector)) for query, text in pairs], np.float64)

    def span_cosines(
        self, snapshot: Snapshot, queries: Sequence[SentenceQuery], spans: Sequence[NamedSpan]
    ) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        return np.array([_span_cosine(queries[span.query], span) for span in spans], np.float64)


def _span_cosine(query: SentenceQuery, span: NamedSpan) -> float:
    segment = span.located.view.segment
    rows = rows_of(segment, span.units)
    stored = stored_restorable(segment).slice(rows[0].number, rows[-1].number + 1)
    return float(cosines_of(stored, query.vector[None]).max())
