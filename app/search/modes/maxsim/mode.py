"""Mode ``maxsim`` in the steps of a search."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.answers import Hit
from app.search.mode import Accepts, BatchQuery, Countable, Mode, Needs, Presented, Total
from app.search.modes.maxsim.hits import PairedExplanation, ScoredDocument, present_documents
from app.search.modes.maxsim.nugget_queries import NuggetQuery, encode_windows, query_windows
from app.search.reading import query_vector
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.nuggets.models import NuggetModels
from indexer.nuggets.queries import NuggetCounts, NuggetScan
from indexer.nuggets.recipe import NAME, NuggetRecipe, nugget_recipe
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.literal import Terms, holds
from models.encoders.nuggets.forward_pass import NuggetPass
from models.ops.maxsim import maxsim
from models.text.tokens import UnitTokens


@dataclass(frozen=True, slots=True)
class TokenizedQuery:
    """The windows of a query text."""

    windows: list[UnitTokens]


class DocumentHits(Presented[NuggetQuery]):
    """Whole documents, explained by pairs of nuggets."""

    unit = "document"
    explanation = PairedExplanation

    def hit(self, span: ScoredSpan) -> ScoredDocument:
        """The whole document."""
        return ScoredDocument.of(span, Filter())

    def present(
        self, request: SearchRequest, query: NuggetQuery, spans: list[ScoredSpan], tuning: Tuning, total: Total
    ) -> tuple[Hit, ...]:
        """Hits, explained by the pairs of nuggets if the request asks for it."""
        return present_documents(request, query, spans, tuning)


class MaxSimMode(Mode[TokenizedQuery | NuggetQuery, NuggetQuery]):
    """Documents by MaxSim of their nuggets. A query has the nugget ratio of its collection."""

    name = "maxsim"
    accepts = Accepts(
        vector=True, ranking=True, lengths=False, context=False, boundaries=("any",), grouping=("document",)
    )
    needs = Needs(NAME, "Index its documents into a new collection with `spanseek index --nugget-ratio 0.1`.")
    presented = DocumentHits()

    def __init__(self, encoders: Encoders) -> None:
        self._models = encoders.shared(NuggetModels)

    @property
    def countable(self) -> "DocumentCounting":
        """The counts and scores of documents."""
        return DocumentCounting(self)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the nugget encoder, and the ratio of nuggets to tokens."""
        nuggets = _nuggets(recipe)
        return f"{nuggets.fingerprint}@{nuggets.ratio:g}"

    def load(self, recipe: Recipe) -> None:
        """Load the collection's nugget encoder."""
        self._models.warm_up(self._pass(recipe))

    def read(self, request: SearchRequest, recipe: Recipe) -> TokenizedQuery | NuggetQuery:
        """Tokenize a text of any length, or normalize a vector."""
        if request.text is None:
            return NuggetQuery(query_vector(request, _nuggets(recipe).dim)[None])
        (windows,) = query_windows(self._pass(recipe), [request.text], recipe.text)
        return TokenizedQuery(windows)

    def encode(self, queries: Sequence[TokenizedQuery | NuggetQuery], recipe: Recipe) -> list[NuggetQuery]:
        """The nuggets of every query; windows of all texts share forward passes."""
        tokenized = [query.windows for query in queries if isinstance(query, TokenizedQuery)]
        encoded = iter(encode_windows(self._pass(recipe), tokenized) if tokenized else ())
        return [next(encoded) if isinstance(query, TokenizedQuery) else query for query in queries]

    def _pass(self, recipe: Recipe) -> NuggetPass:
        return self._models.matching(recipe.encoder, _nuggets(recipe))

    def segment_query(self, snapshot: Snapshot, queries: Sequence[NuggetQuery], selection: Selection) -> BatchQuery:
        """The best documents for every query."""
        return NuggetScan(tuple(query.vectors for query in queries))


class DocumentCounting(Countable[NuggetQuery]):
    """The counts and scores of documents."""

    def counting_query(
        self, snapshot: Snapshot, query: NuggetQuery, floor: float | None, selection: Selection
    ) -> BatchQuery:
        """Every document."""
        return NuggetCounts(query.vectors)

    def text_cosines(self, queries: Sequence[NuggetQuery], texts: Sequence[NuggetQuery]) -> Float[np.ndarray, " pairs"]:
        """MaxSim of the query's nuggets and the text's."""
        pairs = zip(queries, texts, strict=True)
        return np.array([maxsim(query.vectors, text.vectors).score for query, text in pairs], np.float64)

    def is_literal_text(self, text: Terms, terms: Terms) -> bool:
        """True for a text that holds the query's words, as documents do."""
        return holds(text, terms)


def _nuggets(recipe: Recipe) -> NuggetRecipe:
    nuggets = nugget_recipe(recipe)
    if nuggets is None:
        raise AssertionError("the mode is available, and the collection has nuggets")
    return nuggets
