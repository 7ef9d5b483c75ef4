"""Mode ``maxsim``: several vectors a query, and documents compared with it by their nuggets."""

from collections.abc import Sequence

from app.search.document_hits import present_documents
from app.search.encoders import Encoders
from app.search.nugget_queries import NuggetQuery, check_nugget_query, encode_nugget_queries
from app.search.query_vectors import query_vector
from app.search.types import Hit, SearchRequest
from indexer.engine.nuggets import DocumentEngine, ScoredDocument
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.tuning import Tuning
from indexer.types import NuggetRecipe, Recipe
from models.encoders.nugget_pass import NuggetPass
from models.errors import InvalidInput


class DocumentSearch:
    """Text or vector to documents, in the steps of the search service. A query has the ratio of its collection."""

    def __init__(self, encoders: Encoders, engine: DocumentEngine) -> None:
        self._encoders = encoders
        self._engine = engine

    def check(self, request: SearchRequest, recipe: Recipe) -> None:
        """Refuse what cannot be encoded, and what makes no sense of whole documents."""
        if request.group_by not in (None, "document"):
            raise InvalidInput(
                f"Hits of mode maxsim are documents; they cannot be grouped by {request.group_by}.",
                hint="Leave group_by out, or search in mode best_span.",
                field="group_by",
            )
        if request.context:
            raise InvalidInput(
                "Hits of mode maxsim are whole documents, which have no context.",
                hint="Leave context out, or search in mode best_span.",
                field="context",
            )
        if request.text is None:
            query_vector(request, _made(recipe).dim)
        else:
            check_nugget_query(self._pass(recipe), request.text)

    def wanted(self, request: SearchRequest, floor: float | None) -> Selection:
        """What the engine is asked for."""
        return Selection(request.top_k, floor, "document", request.filter)

    def encode(self, requests: Sequence[SearchRequest], recipe: Recipe) -> list[NuggetQuery]:
        """The query vectors of every request; windows of all texts share forward passes."""
        texts = [request.text for request in requests if request.text is not None]
        read = iter(encode_nugget_queries(self._pass(recipe), texts) if texts else ())
        return [
            NuggetQuery(query_vector(request, _made(recipe).dim)[None]) if request.text is None else next(read)
            for request in requests
        ]

    def find(self, snapshot: Snapshot, queries: Sequence[NuggetQuery], wanted: Selection) -> list[list[ScoredDocument]]:
        """The best documents for every query."""
        return self._engine.search(snapshot, [query.vectors for query in queries], wanted)

    def present(
        self, request: SearchRequest, query: NuggetQuery, found: list[ScoredDocument], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits with texts and metadata."""
        return present_documents(request, query, found, tuning)

    def _pass(self, recipe: Recipe) -> NuggetPass:
        return self._encoders.nugget_pass(recipe)


def _made(recipe: Recipe) -> NuggetRecipe:
    if recipe.nuggets is None:
        raise AssertionError("the mode was checked, and the collection has nuggets")
    return recipe.nuggets
