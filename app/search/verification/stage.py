"""The second look: the best hits of a search, read one by one beside its phrase; likely ones come first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, cast, get_args

from app.requests import SearchRequest
from app.search.answers import Hit, TextSpan, UsedThreshold, Verified
from app.search.literal import Found
from app.search.mode import AnyMode
from app.search.modes.best_span import SpanQuery, terms_of
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.segments.text import OffsetUnit
from indexer.types import Recipe
from indexer.words.clauses import Clause, PhraseQuery
from indexer.words.literal import EXACT
from indexer.words.recipe import has_words
from models.errors import InvalidInput
from models.ops.similarity import raw_from_cosine
from models.text.words import words
from models.verifier.types import Judgement, Pair
from models.verifier.types import Verdict as VerdictName

if TYPE_CHECKING:
    from models.verifier.verifier import Verifier

# The verifier of a recipe, if it has one.
VerifierOf: TypeAlias = "Callable[[Recipe], Verifier | None]"
# Not exact, not likely, and a number that is least for the best hit.
Order: TypeAlias = tuple[bool, bool, float]
AnyHit = TypeVar("AnyHit", bound=Hit)

# What the probability of a hit counts beside its raw where hits are put into order. Probabilities alone tell likely
# hits from others, and little more: an answer does not say its question. Chosen by ADR 60.
_BESIDE_RAW: Final = 0.15
# With this many unlikely hits among those that were read, no likely one is expected behind them.
_UNLIKELY: Final = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """The second look's judgement of a result, and the clause that it read."""

    clause: Clause
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Ordered:
    """The results of a search as they are shown, and the verdicts on those from place ``first`` on that were read.

    ``verified`` are the numbers of read and of likely results: None if none was read, False if there was no room or no
    time for the second look.
    """

    found: Found
    verdicts: Sequence[Verdict] = ()
    first: int = 0
    verified: Verified | Literal[False] | None = None

    def of(self, place: int) -> Verdict | None:
        """The verdict on the result at a place."""
        at = place - self.first
        return self.verdicts[at] if 0 <= at < len(self.verdicts) else None


def no_verifier(recipe: Recipe) -> None:
    """Return None: there is no verifier for any recipe."""


class SecondLook:
    """Decides which results the second look reads, and which clauses. ``spans`` reads phrases as queries for spans."""

    def __init__(self, verifier: VerifierOf, spans: AnyMode | None) -> None:
        self.verifier = verifier
        self._spans = spans

    def count(self, request: SearchRequest, mode: AnyMode, recipe: Recipe) -> int:
        """The number of best results to read; loads the verifier if there is one.

        It is 0 for vectors, for ranking by the literal cosine, for words with operators, for phrases that are too long
        to be spans, without stored texts, and if results are sorted by something other than the score. Raises
        ``InvalidInput`` if it is 0 and the request asks for likely hits or an estimate.
        """
        is_judged = mode.is_judged(request) and request.ranking == "span_score" and recipe.stores_text
        is_judged = is_judged and request.sort in (None, "score")
        has_verifier = is_judged and request.read and self.verifier(recipe) is not None
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

    def even(self, request: SearchRequest, mode: AnyMode, recipe: Recipe) -> float | None:
        """The raw that threshold ``auto`` stands for: from it on, a match is more probable than not.

        None in modes with another scale, where verdicts decide. Raises ``InvalidInput`` if the search has no second
        look.
        """
        is_scaled = mode.is_on_scale and request.text is not None and request.ranking == "span_score"
        verifier = self.verifier(recipe) if is_scaled or self.count(request, mode, recipe) else None
        if verifier is None:
            raise InvalidInput(
                "The threshold auto is a point of the second look, which this search does not have.",
                hint="Give a number; or a phrase as text, in mode best_span, to a collection of the encoder slice.",
                field="threshold",
            )
        return verifier.even if is_scaled else None

    def even_of(self, results: "Results") -> float:
        """The similarity from which on a match is more probable than not."""
        return self._verifier_of(results).even

    def least_of(self, results: "Results") -> float:
        """The similarity below which no match is likely."""
        return self._verifier_of(results).least

    def span_queries(self, results: Sequence["Results"]) -> list[object]:
        """The phrases as queries for spans. Those that their modes have not encoded are encoded together."""
        spans = [of.mode.span_query(of.query) for of in results]
        left = [number for number, span in enumerate(spans) if span is None]
        if left:
            read = [self.spans.read(_phrase_of(results[at].request), results[at].snapshot.recipe) for at in left]
            encoded = self.spans.encode(read, results[left[0]].snapshot.recipe)
            spans = [encoded[left.index(at)] if span is None else span for at, span in enumerate(spans)]
        return spans

    @property
    def spans(self) -> AnyMode:
        """The mode that reads phrases for spans."""
        if self._spans is None:
            raise AssertionError("without it nothing is read")
        return self._spans

    def clauses(self, results: Sequence["Results"]) -> list[list[Clause]]:
        """The clauses that are read of every search's results."""
        read = [of for of in results if of.rows]
        found = iter([clauses_of(of, span) for of, span in zip(read, self.span_queries(read), strict=True)])
        return [next(found) if of.rows else [] for of in results]

    def verdicts(self, results: Sequence["Results"]) -> list[list[Verdict]]:
        """The verdicts on results of collections of one encoder, which are read together."""
        clauses = self.clauses(results)
        verifier = self.verifier(results[0].snapshot.recipe) if any(clauses) else None
        if verifier is None:
            return [[] for _ in results]
        judged = iter(verifier.judge([clause.pair for of in clauses for clause in of]))
        return [[Verdict(clause, next(judged)) for clause in of] for of in clauses]

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
    """Results of a search for the second look to read, and the query as its mode has encoded it.

    In a mode whose hits are documents, they are whole documents unless ``are_spans``.
    """

    request: SearchRequest
    mode: AnyMode
    snapshot: Snapshot
    query: object
    rows: Sequence[SpanRow] = ()
    are_spans: bool = False

    def of_rows(self, rows: Sequence[SpanRow]) -> "Results":
        """Some spans as results of the same search, whatever its mode finds."""
        return replace(self, rows=rows, are_spans=True)


def ordered(found: Found, verdicts: Sequence[Verdict], kept: Sequence[VerdictName | None]) -> Ordered:
    """The results that are kept: those that were read in the order of :func:`rank_key`, then others as they were found.

    ``kept`` has the verdicts of results that are kept, and None if those that were not read are.
    """
    read = list(zip(found.rows, (verdict.judgement for verdict in verdicts), strict=False))
    keys = [
        rank_key(row.cosine >= EXACT, said.is_likely, said.probability, raw_from_cosine(row.cosine))
        for row, said in read
    ]
    order = [place for place in sorted(range(len(read)), key=keys.__getitem__) if read[place][1].verdict in kept]
    rows = [found.rows[place] for place in order] + (found.rows[len(verdicts) :] if None in kept else [])
    verified = summary_of(verdicts, len(found)) if verdicts else None
    return Ordered(replace(found, rows=rows), [verdicts[place] for place in order], verified=verified)


def order_of(hit: Hit) -> Order:
    """Return a key that sorts the hits of several searches as if they were hits of one."""
    return rank_key(hit.match == "exact", hit.verdict == "match", hit.probability or 0.0, hit.raw)


def rank_key(exact: bool, likely: bool, probability: float, raw: float) -> Order:
    """Sorts results: occurrences of the query's own words, likely matches, and others; each by :func:`blended`.

    >>> rank_key(False, True, 0.6, 0.7) < rank_key(False, False, 0.4, 0.9) < rank_key(False, False, 0.1, 0.93)
    True
    """
    return not exact, not likely, -blended(probability, raw)


def blended(probability: float, raw: float) -> float:
    """The combined score of both looks; for a hit that was not read, the score of the first look."""
    return raw + _BESIDE_RAW * probability


def told(hit: AnyHit, verdict: Verdict | None, unit: OffsetUnit) -> AnyHit:
    """Return a hit with the verdict of the second look, and the clause that it read.

    A match is not marked as negated: the rules for negations see less of what a clause says than the verdict does.
    """
    if verdict is None:
        return hit
    judgement = verdict.judgement
    return replace(
        hit,
        probability=judgement.probability,
        verdict=judgement.verdict,
        differs=judgement.differs or None,
        polarity=None if judgement.verdict == "match" else hit.polarity,
        clause=TextSpan.at(verdict.clause.place, verdict.clause.span, unit),
    )


def kept_verdicts(request: SearchRequest, used: UsedThreshold) -> tuple[VerdictName | None, ...]:
    """The verdicts of hits that a request keeps; None stands for hits that were not read.

    With the threshold ``auto``, hits that were not read are kept only if it has a value, which their similarity must
    reach.
    """
    if request.likely or (used.source == "auto" and used.value is None):
        return ("match",)
    return ("match", None) if used.source == "auto" else (*get_args(VerdictName), None)


def summary_of(read: Sequence[Verdict], found: int) -> Verified:
    """The numbers of read and of likely results of a search that found ``found`` results."""
    likely = sum(verdict.judgement.is_likely for verdict in read)
    return Verified(len(read), likely, len(read) == found or likely + _UNLIKELY <= len(read))


def clauses_of(results: Results, span: object) -> list[Clause]:
    """The clauses of results to read, by their phrase as a query for spans."""
    text, recipe = results.request.text or "", results.snapshot.recipe
    terms = words(text, recipe.text) if has_words(recipe) else ()
    documents = results.mode.unit == "document" and not results.are_spans
    query = cast("SpanQuery", span)
    phrase = PhraseQuery(text, query.vector, terms_of([query]), terms, results.request.filter, documents)
    return phrase.clauses(results.snapshot.view, results.rows)


def pairs_of(request: SearchRequest, snapshot: Snapshot, rows: Sequence[SpanRow]) -> list[Pair]:
    """The phrase with the sentences of rows of mode ``best_span``, which have its scores; for training."""
    places = (snapshot.scored(row) for row in rows)
    return [Clause.of(request.text or "", span.place, span.cosine).pair for span in places]


def _phrase_of(request: SearchRequest) -> SearchRequest:
    return SearchRequest(request.collection, text=request.text)
