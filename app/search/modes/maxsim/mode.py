"""Mode ``maxsim`` in the steps of a search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import Mode, SearchRequest, SpanChoice
from app.search.mode import Counts, HitUnit, Resources, Scored, ScoredRows, SearchMode
from app.search.modes.maxsim.hits import present_documents
from app.search.modes.maxsim.literal import count_with_floor, documents_with_floor, holds
from app.search.modes.maxsim.nugget_queries import NuggetQuery, encode_windows, query_windows
from app.search.query_vectors import query_vector
from app.search.types import Hit
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.nuggets.candidates import DocumentCandidates
from indexer.nuggets.recipe import NAME, NuggetRecipe, nugget_recipe
from indexer.nuggets.scan import DocumentEngine, ScoredDocument, count_documents
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.literal import BELOW, EXACT, Terms
from indexer.words.recipe import has_words
from models.errors import InvalidInput
from models.ops.maxsim import maxsim
from models.text.folding import words
from models.text.tokens import UnitTokens


@dataclass(frozen=True, slots=True)
class TokenizedQuery:
    """The windows of a query text, and its folded words if documents that hold them in their order rank first."""

    windows: list[UnitTokens]
    terms: Terms = ()


class MaxSimMode(SearchMode[TokenizedQuery | NuggetQuery, NuggetQuery, ScoredDocument]):
    """Documents by MaxSim of their nuggets. A query has the nugget ratio of its collection."""

    name: Mode = "maxsim"
    unit: HitUnit = "document"
    requirement = "Index its documents into a new collection with `spanseek index --nugget-ratio 0.1`."

    def __init__(self, encoders: Encoders, engine: DocumentEngine) -> None:
        self._encoders = encoders
        self._engine = engine

    def available(self, recipe: Recipe) -> bool:
        """True if the collection has nuggets."""
        return NAME in recipe.details

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the nugget encoder, and the ratio of nuggets to tokens."""
        nuggets = _nuggets(recipe)
        return f"{nuggets.fingerprint}@{nuggets.ratio:g}"

    def load(self, recipe: Recipe) -> None:
        """Load the collection's nugget encoder."""
        self._encoders.warm_up_nuggets(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> TokenizedQuery | NuggetQuery:
        """Tokenize a text of any length, or normalize a vector. Hits are whole documents: no grouping, no context."""
        if request.group_by not in (None, "document"):
            raise InvalidInput(
                f"Hits of mode maxsim are documents; they cannot be grouped by {request.group_by}.",
                hint="Leave group_by out, or search in mode best_span.",
                field="group_by",
            )
        if request.spans != SpanChoice():
            raise InvalidInput(
                "Hits of mode maxsim are whole documents, which have no boundaries to choose.",
                hint="Leave spans out, or search in mode best_span.",
                field="spans",
            )
        if request.context:
            raise InvalidInput(
                "Hits of mode maxsim are whole documents, which have no context.",
                hint="Leave context out, or search in mode best_span.",
                field="context",
            )
        if request.query_units is not None:
            raise InvalidInput(
                "Mode maxsim compares documents, whatever their length.",
                hint="Leave query_units out, or search in mode best_span.",
                field="query_units",
            )
        if request.text is None:
            return NuggetQuery(query_vector(request, _nuggets(recipe).dim)[None])
        (windows,) = query_windows(self._encoders.nugget_pass(recipe), [request.text])
        is_literal = has_words(recipe) and request.ranking != "cosine"
        return TokenizedQuery(windows, words(request.text) if is_literal else ())

    def encode(self, queries: Sequence[TokenizedQuery | NuggetQuery], recipe: Recipe) -> list[NuggetQuery]:
        """The nuggets of every query; windows of all texts share forward passes."""
        tokenized = [query.windows for query in queries if isinstance(query, TokenizedQuery)]
        encoded = iter(encode_windows(self._encoders.nugget_pass(recipe), tokenized) if tokenized else ())
        return [
            replace(next(encoded), terms=query.terms) if isinstance(query, TokenizedQuery) else query
            for query in queries
        ]

    def search(
        self, snapshot: Snapshot, queries: Sequence[NuggetQuery], selection: Selection
    ) -> list[list[ScoredDocument]]:
        """The best documents for every query; those that hold its own words in their order rank first."""
        found = self._engine.search(snapshot, [query.vectors for query in queries], selection)
        return [
            documents_with_floor(snapshot, query.terms, documents, selection) if query.terms else documents
            for query, documents in zip(queries, found, strict=True)
        ]

    def count(self, snapshot: Snapshot, query: NuggetQuery, floor: float | None, selection: Selection) -> Counts:
        """Every document; there are no spans."""
        documents = count_documents(snapshot, query.vectors, selection.filter).scored
        if query.terms:
            documents = count_with_floor(snapshot, query.terms, documents, selection.filter)
        return Counts(ScoredRows.of(documents), spans=None)

    def present(
        self, request: SearchRequest, query: NuggetQuery, results: list[ScoredDocument], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits, explained by the pairs of nuggets if the request asks for it."""
        return present_documents(request, query, results, tuning)

    def text_cosines(self, queries: Sequence[NuggetQuery], texts: Sequence[NuggetQuery]) -> Float[np.ndarray, " pairs"]:
        """MaxSim of the query's nuggets and the text's, or 1 for a text that holds the query's own words."""
        return np.array([_text_score(query, text) for query, text in zip(queries, texts, strict=True)], np.float64)

    def is_exact(self, query: NuggetQuery, scored: Scored) -> bool:
        """True for a document that holds the query's own words in their order."""
        return bool(query.terms) and scored.cosine == EXACT


def create(resources: Resources) -> SearchMode[TokenizedQuery | NuggetQuery, NuggetQuery, ScoredDocument]:
    """The mode."""
    return MaxSimMode(resources.encoders, resources.documents or DocumentCandidates())


def _text_score(query: NuggetQuery, text: NuggetQuery) -> float:
    score = maxsim(query.vectors, text.vectors).score
    if not query.terms:
        return score
    return EXACT if holds(text.terms, query.terms) else min(score, BELOW)


def _nuggets(recipe: Recipe) -> NuggetRecipe:
    nuggets = nugget_recipe(recipe)
    if nuggets is None:
        raise AssertionError("the mode is available, and the collection has nuggets")
    return nuggets
