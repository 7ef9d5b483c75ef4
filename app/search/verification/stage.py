"""The stage of verification: which results are read beside the phrase, which clauses of them, and their judgements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from app.requests import SearchRequest
from app.search.mode import AnyMode, Mode
from app.search.span_queries import SpanQuery, terms_of
from app.search.verification.ordering import JudgedClause
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.types import Recipe
from indexer.words.clauses import Clause, PhraseQuery
from indexer.words.queries import has_plain_words
from indexer.words.recipe import has_words
from models.errors import InvalidInput
from models.text.words import words
from models.verifier.types import Pair

if TYPE_CHECKING:
    from models.verifier.verifier import Verifier

# The verifier of a recipe, if it has one.
VerifierOf: TypeAlias = "Callable[[Recipe], Verifier | None]"


def no_verifier(recipe: Recipe) -> None:
    """Return None: there is no verifier for any recipe."""


class HitVerifier:
    """Decides which results are verified, and by which clauses. ``spans`` reads phrases as queries for spans."""

    def __init__(self, verifier: VerifierOf, spans: Mode[Any, SpanQuery] | None) -> None:
        self.verifier = verifier
        self._spans = spans

    def count(self, request: SearchRequest, mode: AnyMode, recipe: Recipe) -> int:
        """The number of best results to read; loads the verifier if there is one.

        It is 0 for vectors, for ranking by the literal cosine, for words with operators, for phrases that are too long
        to be spans, without stored texts, and if results are sorted by something other than the score. Raises
        ``InvalidInput`` if it is 0 and the request asks for likely hits or an estimate.
        """
        is_ranked = request.ranking == "span_score" and request.sort in (None, "score")
        is_read = is_phrase(request, mode) and is_ranked
        has_verifier = is_read and request.read and self.verifier(recipe) is not None
        count = request.read if has_verifier and self._is_readable(request, recipe) else 0
        if (request.likely or request.estimate) and not count:
            raise InvalidInput(
                "What is likely is said by the second look, which this search does not have.",
                hint="Give a phrase as text, without sort, to a collection that stores texts by the encoder slice; or "
                "leave it out."
                if request.read
                else "Leave out verify, or give the number of hits to read.",
                field="likely" if request.likely else "estimate",
            )
        return count

    def decision_point(self, request: SearchRequest, mode: AnyMode, recipe: Recipe) -> float | None:
        """The raw that threshold ``auto`` stands for, at and above which a match is more probable than not.

        None in modes with another scale, where verdicts decide. Raises ``InvalidInput`` if the search cannot be
        verified.
        """
        is_scaled = mode.presented.is_on_scale and request.text is not None and request.ranking == "span_score"
        verifier = self.verifier(recipe) if is_scaled or self.count(request, mode, recipe) else None
        if verifier is None:
            raise InvalidInput(
                "The threshold auto is a point of the second look, which this search does not have.",
                hint="Give a number; or a phrase as text, in mode best_span, to a collection of the encoder slice.",
                field="threshold",
            )
        return verifier.decision_point if is_scaled else None

    def decision_point_of(self, results: "Results") -> float:
        """The similarity at and above which a match is more probable than not."""
        return self._verifier_of(results).decision_point

    def least_of(self, results: "Results") -> float:
        """The similarity below which no match is likely."""
        return self._verifier_of(results).least

    def span_queries(self, results: Sequence["Results"]) -> list[SpanQuery]:
        """The phrases as queries for spans. Those that their modes have not encoded are encoded together."""
        own = [of.mode.countable.span_query(of.query) for of in results]
        left = [of for of, span in zip(results, own, strict=True) if span is None]
        read = [self.spans.read(_phrase_of(of.request), of.snapshot.recipe) for of in left]
        encoded = iter(self.spans.encode(read, left[0].snapshot.recipe) if left else ())
        return [next(encoded) if span is None else span for span in own]

    @property
    def spans(self) -> Mode[Any, SpanQuery]:
        """The mode that reads phrases for spans."""
        if self._spans is None:
            raise AssertionError("without it nothing is read")
        return self._spans

    def clauses(self, results: Sequence["Results"]) -> list[list[Clause]]:
        """The clauses that are read of every search's results."""
        read = [of for of in results if of.rows]
        found = iter([clauses_of(of, span) for of, span in zip(read, self.span_queries(read), strict=True)])
        return [next(found) if of.rows else [] for of in results]

    def verdicts(self, results: Sequence["Results"]) -> list[list[JudgedClause]]:
        """The verdicts on results of collections of one encoder, which are read together."""
        clauses = self.clauses(results)
        verifier = self.verifier(results[0].snapshot.recipe) if any(clauses) else None
        if verifier is None:
            return [[] for _ in results]
        judged = iter(verifier.judge([clause.pair for of in clauses for clause in of]))
        return [[JudgedClause(clause, next(judged)) for clause in of] for of in clauses]

    def _verifier_of(self, results: "Results") -> "Verifier":
        verifier = self.verifier(results.snapshot.recipe)
        if verifier is None:
            raise AssertionError("results are read, and there is a verifier")
        return verifier

    def _is_readable(self, request: SearchRequest, recipe: Recipe) -> bool:
        """True for a text that fits into one window of the encoder."""
        if self._spans is None:
            return False
        try:
            self._spans.load(recipe)
            self._spans.read(_phrase_of(request), recipe)
        except InvalidInput:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a search to be read, and the query as its mode has encoded it.

    In a mode whose hits are documents, they are whole documents unless ``are_spans``.
    """

    request: SearchRequest
    mode: AnyMode
    snapshot: Snapshot
    query: Any
    rows: Sequence[SpanRow] = ()
    are_spans: bool = False

    def of_rows(self, rows: Sequence[SpanRow]) -> "Results":
        """Some spans as results of the same search, whatever its mode finds."""
        return replace(self, rows=rows, are_spans=True)


def clauses_of(results: Results, query: SpanQuery) -> list[Clause]:
    """The clauses of results to read, by their phrase as a query for spans."""
    text, recipe = results.request.text or "", results.snapshot.recipe
    terms = words(text, recipe.text) if has_words(recipe) else ()
    documents = results.mode.presented.unit == "document" and not results.are_spans
    phrase = PhraseQuery(text, query.vector, terms_of([query]), terms, results.request.filter, documents)
    return phrase.clauses(results.snapshot.view, results.rows)


def pairs_of(request: SearchRequest, snapshot: Snapshot, rows: Sequence[SpanRow]) -> list[Pair]:
    """The phrase with the sentences of rows of mode ``best_span``, which have its scores; for training."""
    places = (snapshot.scored(row) for row in rows)
    return [Clause.of(request.text or "", span.place, span.cosine).pair for span in places]


def _phrase_of(request: SearchRequest) -> SearchRequest:
    return SearchRequest(request.collection, text=request.text)


def is_phrase(request: SearchRequest, mode: AnyMode) -> bool:
    """True if the text of a request is a phrase that a text may say, without operators of the mode."""
    if request.text is None:
        return False
    return not mode.accepts.operators or has_plain_words(request.text)
