"""Requests and hits of a search, for HTTP, the command line and Python."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from app.answers import deprecated, described, optional
from indexer.engine.query import Filter, Grouping, SpanLengths
from indexer.segments.text import OffsetUnit
from indexer.tuning import ThresholdOn
from models.text.borders import Boundary
from models.text.stemming import Language

# A mode is implemented by app/search/modes/NAME; to add one, add its name here (CONTRIBUTING.md, "Add a search mode").
Mode = Literal["best_span", "facets", "hybrid", "lexical", "maxsim", "restorable"]
# The modes that can compare words by their stems.
STEMMING_MODES: tuple[Mode, ...] = ("lexical", "hybrid")
# What hits are ranked by; the paper ranks by the cosine alone.
Ranking = Literal["span_score", "cosine"]
# How much the words of a query count: all the same, or by their importance for its facets.
Weighting = Literal["uniform", "importance"]
WEIGHTING_MODES: tuple[Mode, ...] = ("best_span", "hybrid")
Boundaries = Literal["any", "clause", "sentence", "part"]

MAX_TOP_K = 1000
MAX_OFFSET = 10_000
MAX_EXPORT = 100_000
MAX_COLLECTIONS = 20
MAX_CONTEXT = 1000
MAX_QUERY_UNITS = 100_000


@dataclass(frozen=True, slots=True)
class SpanChoice:
    """Restrictions on hits: numbers of units, and any boundaries or whole clauses, sentences or parts."""

    min_units: int | None = None
    max_units: int | None = None
    boundaries: Boundaries = "any"

    @property
    def lengths(self) -> SpanLengths | None:
        """The range of lengths, if any."""
        limited = self.min_units is not None or self.max_units is not None
        return SpanLengths(self.min_units, self.max_units) if limited else None

    @property
    def boundary(self) -> Boundary | None:
        """The boundary of whole spans; None for all spans."""
        return None if self.boundaries == "any" else self.boundaries


@dataclass(frozen=True, slots=True, kw_only=True)
class HitOptions:
    """Which hits are good enough, how they are ranked, and what an answer says of them."""

    threshold: float | None = None
    threshold_on: ThresholdOn = "score"
    offset_unit: OffsetUnit = "codepoint"
    context: int = 0
    explain: bool = False
    ranking: Ranking = "span_score"
    weighting: Weighting = "uniform"
    spans: SpanChoice = SpanChoice()


@dataclass(frozen=True, slots=True)
class SearchRequest(HitOptions):
    """One query, which is a text or a vector, and which hits to return.

    Without a threshold the collection's applies, on its own scale; 0 returns all hits. Without ``group_by``
    every span, or every document in modes that return documents, is a hit. ``query_units`` is the number of units of
    the text that a vector stands for; without it no span is too short for the vector. ``stemming`` is the language of
    the words that modes lexical and hybrid compare by their stems; without it they compare words. ``offset`` leaves out
    as many of the best hits, and ``total`` counts all hits exactly.
    """

    collection: str
    text: str | None = None
    vector: tuple[float, ...] | None = None
    mode: Mode = "best_span"
    top_k: int = 10
    group_by: Grouping | None = None
    filter: Filter = field(default_factory=Filter)
    query_units: int | None = None
    stemming: Language | None = None
    offset: int = 0
    total: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """The hit's surroundings within its part; `text[start:end]` of them, in code points, is the hit."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class UnitContribution:
    """The contribution of one unit to the cosine of its span."""

    start: int
    end: int
    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class UnitWeight:
    """A unit of the query, and how much it counts in the query's vector."""

    start: Annotated[int, described("Where it starts in the query, in `offset_unit`s.")]
    end: int
    text: str
    weight: Annotated[float, described("1 in the mean of units with known words, and for units without one.")]


@dataclass(frozen=True, slots=True)
class PartAround:
    """The part around a whole clause or sentence."""

    cosine: float
    share: Annotated[float, described("How much its cosine counts beside the terms of the whole and its best span.")]


@dataclass(frozen=True, slots=True)
class SpanWithin:
    """The best span within a whole clause, sentence or part."""

    start: int
    end: int
    text: str
    span_score: float
    share: Annotated[float, described("How much its span score counts beside that of the whole.")]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The terms of the hit's span score, and the units' contributions to its cosine.

    Their sum is `2 * raw - 1`. Of a whole the sum counts for what the shares of its best span and of its part leave.
    """

    cosine: Annotated[float, described("The contributions of the units add up to it.")]
    units: tuple[UnitContribution, ...]
    length: Annotated[float, described("The discount of a span that is shorter than the query; 0 or less.")] = 0.0
    borders: Annotated[
        float,
        described("What the span's start and end lack of borders, and what a sentence end inside costs; 0 or less."),
    ] = 0.0
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0
    best_span: Annotated[
        SpanWithin | None, described("Of whole clauses, sentences and parts: the span that says it best.")
    ] = None
    part: Annotated[PartAround | None, optional("Of whole clauses and sentences: the part around, if it counts.")] = (
        None
    )
    query: Annotated[
        tuple[UnitWeight, ...] | None, optional("The units of the query; with `weighting: importance` alone.")
    ] = None


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A span of a text: its offsets and its text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class NuggetPair:
    """A vector of the query, and the document's nugget that is most similar to it."""

    query: Annotated[
        TextSpan | None, described("The part of the query that its vector represents; null for a given vector.")
    ]
    nugget: Annotated[TextSpan, described("The nugget's token.")]
    segment_text: Annotated[
        TextSpan, described("The nugget's segment: from the end of the previous nugget to its own end.")
    ]
    stretch: Annotated[TextSpan, deprecated("The old name of `segment_text`; it goes with the next version.")]
    cosine: float
    contribution: Annotated[float, described("The cosine divided by the number of the query's vectors.")]


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A sentence of a document, and the mean cosine that its nuggets alone have."""

    start: int
    end: int
    text: str
    cosine: float


@dataclass(frozen=True, slots=True)
class PairedExplanation:
    """The mean cosine of the pairs, and the pairs, whose contributions add up to it; with `exact`, to `2 * raw - 1`."""

    cosine: float
    pairs: tuple[NuggetPair, ...]
    best_sentence: Annotated[
        SentenceMatch | None,
        optional("The sentence that alone matches the query best; absent where the collection has no borders."),
    ] = None
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0


# What a hybrid score is made of: the hit's best span, the hit and the part around it, by meaning and by their words.
HybridTermName = Literal["best_span", "whole", "part", "words", "words_of_part"]


@dataclass(frozen=True, slots=True)
class HybridTerm:
    """A term of a hybrid score."""

    name: HybridTermName
    value: Annotated[float, described("From -1 to 1: a score of meaning, or `2 * share - 1` of the BM25 score.")]
    weight: Annotated[float, described("How much it counts; the weights add up to 1.")]


@dataclass(frozen=True, slots=True)
class HybridExplanation:
    """The terms of a hybrid score, which is `2 * raw - 1`: `cosine` is their weighted mean, and `exact` the rest."""

    cosine: Annotated[float, described("The weighted mean of the terms.")]
    terms: tuple[HybridTerm, ...]
    span: Annotated[TextSpan | None, optional("The best span of the hit; absent where none fits into it.")] = None
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0
    query: Annotated[
        tuple[UnitWeight, ...] | None, optional("The units of the query; with `weighting: importance` alone.")
    ] = None


@dataclass(frozen=True, slots=True)
class WordContribution:
    """A word, a prefix or a phrase of the query in a hit."""

    word: str
    count: Annotated[int, described("How often the sentence around the hit holds it.")]
    weight: Annotated[float, described("Its weight in the collection: the rarer, the larger.")]
    contribution: Annotated[float, described("The part of the BM25 score that it makes.")]


@dataclass(frozen=True, slots=True)
class LexicalExplanation:
    """The BM25 score of the sentence, to which the contributions add up, and the highest score for the query.

    `bm25 / highest` is raw, unless the words stand in the order of the query: then raw is 1.
    """

    cosine: Annotated[float, described("2 * raw - 1, as in the other modes.")]
    bm25: float
    highest: Annotated[float, described("The score of a sentence that is the query.")]
    words: tuple[WordContribution, ...]


@dataclass(frozen=True, slots=True)
class FacetWords:
    """A facet by the words nearest to it, nearest first."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FacetExplanation:
    """The score of the facets, `1 - SC / K`, and the facets of the query and of the hit."""

    cosine: float
    query: tuple[FacetWords, ...]
    hit: tuple[FacetWords, ...]
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A span or, in mode maxsim, a whole document. `text` is its text from `start` to `end`."""

    document_id: str
    start: Annotated[int, described("Where the span starts in the document, in `offset_unit`s.")]
    end: Annotated[int, described("Where it ends, exclusive.")]
    text: str
    score: Annotated[float, described("Calibrated similarity, 0 to 1.")]
    raw: Annotated[
        float,
        described(
            "(1 + span score) / 2, from 0 to 1; of the cosine with `ranking: cosine` and in mode maxsim; the share of "
            "the highest BM25 score in mode lexical. Hits are ordered by it."
        ),
    ]
    mode: Mode
    rank: Annotated[int, described("1 is the best.")]
    metadata: Annotated[Mapping[str, Any], described("The document's metadata.")]
    part_metadata: Annotated[Mapping[str, Any] | None, optional("The part's metadata; absent if empty.")] = None
    context: Annotated[Context | None, optional("Absent unless requested.")] = None
    polarity: Annotated[
        Literal["negated"] | None,
        optional("`negated`: the hit is within the scope of a negation, and the query has none. English only."),
    ] = None
    explanation: Annotated[
        Explanation | PairedExplanation | LexicalExplanation | HybridExplanation | FacetExplanation | None,
        optional(
            "Absent unless requested; pairs in mode maxsim, words in mode lexical, both in mode hybrid, facets in mode "
            "facets."
        ),
    ] = None
    match: Annotated[
        Literal["exact"] | None,
        optional("`exact`: the query's own words in their order; case, white space and punctuation aside."),
    ] = None
    restored: Annotated[
        Literal[True] | None,
        optional("The collection does not store texts: `text` is restored from vectors, and may differ."),
    ] = None
    confidence: Annotated[
        float | None, optional("Of a restored text: the probability of its least certain token, 0 to 1.")
    ] = None
    highlights: Annotated[
        tuple[TextSpan, ...] | None, optional("The query's words in the hit; in mode lexical alone.")
    ] = None
    collection: Annotated[str | None, optional("The hit's collection; only where several were searched.")] = None
