"""Answers of a search: hits, and what is said beside them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias, Union

from pydantic import ConfigDict, GetCoreSchemaHandler, GetPydanticSchema
from pydantic_core import CoreSchema

from app.answers import described, optional
from app.requests import MODES, ModeName
from indexer.segments.text import OffsetUnit
from indexer.tuning import ThresholdOn
from models.entry_points import entry_points_of
from models.types import CharSpan
from models.verifier.types import Difference, Verdict

ThresholdSource = Literal["request", "auto", "phrase", "collection", "none"]


@dataclass(frozen=True, slots=True)
class Context:
    """The hit's surroundings within its part; `text[start:end]` of them, in code points, is the hit."""

    text: str
    start: int
    end: int


class TextPlace(Protocol):
    """The place of a result, for reading its text and its context."""

    @property
    def part_span(self) -> CharSpan:
        """The characters of the result's part, which limit its context."""

    def text(self, span: CharSpan) -> str:
        """A slice of the document's text."""

    def offset(self, code_point: int, unit: OffsetUnit) -> int:
        """A code point offset of the document, in another unit."""


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A span of a text: its offsets and its text."""

    start: int
    end: int
    text: str

    @classmethod
    def at(cls, place: TextPlace, span: CharSpan, unit: OffsetUnit) -> "TextSpan":
        """Some characters of a place's document, with offsets in this unit."""
        return cls(place.offset(span.start, unit), place.offset(span.end, unit), place.text(span))


class ScoreExplanation(Protocol):
    """The explanation of a hit's score: a dataclass, which the mode's class names as its ``explanation``."""

    def lines(self) -> Iterator[str]:
        """The explanation in lines, for the command line."""


def _explanations(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    """The schema of the explanations of all modes, which are loaded when it is first asked for."""
    modes = (point.load() for point in entry_points_of(MODES).values())
    kinds = dict.fromkeys(mode.presented.explanation for mode in modes if mode.presented.explanation is not None)
    union: Any = Union[(*kinds, None)]
    return handler(union)


@dataclass(frozen=True, slots=True)
class Hit:
    """A span or, in modes that rank documents, a whole document. `text` is its text from `start` to `end`."""

    document_id: str
    start: Annotated[int, described("Where the span starts in the document, in `offset_unit`s.")]
    end: Annotated[int, described("Where it ends, exclusive.")]
    text: str
    score: Annotated[float, described("Calibrated similarity, 0 to 1.")]
    raw: Annotated[
        float,
        described(
            "(1 + span score) / 2, from 0 to 1; of the cosine with `ranking: cosine` and of documents; the "
            "share of the highest BM25 score in mode lexical. Hits are ordered by it."
        ),
    ]
    mode: ModeName
    rank: Annotated[int, described("1 is the best.")]
    metadata: Annotated[Mapping[str, Any], described("The document's metadata.")]
    part_metadata: Annotated[Mapping[str, Any] | None, optional("The part's metadata; absent if empty.")] = None
    context: Annotated[Context | None, optional("Absent unless requested.")] = None
    polarity: Annotated[
        Literal["negated"] | None,
        optional("`negated`: the hit is denied, the query is not, and its verdict is no match. English only."),
    ] = None
    explanation: Annotated[
        ScoreExplanation | None,
        GetPydanticSchema(_explanations),
        optional("Absent unless requested; what the score is made of, which depends on the mode."),
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
    cut: Annotated[
        Literal[True] | None,
        optional(
            "What was found is longer than 10,000 characters: `start`, `end` and `text` are of the part that holds "
            "most of the query's words."
        ),
    ] = None
    highlights: Annotated[
        tuple[TextSpan, ...] | None, optional("The query's words in the hit; in mode lexical alone.")
    ] = None
    probability: Annotated[
        float | None,
        optional(
            "That the sentence of the hit says the phrase, 0 to 1; only of hits that took the second look, of which "
            "likely ones come first."
        ),
    ] = None
    verdict: Annotated[
        Verdict | None,
        optional("`match` from a probability of 0.5 on, else `differs` (near, but not the same) or `unrelated`."),
    ] = None
    differs: Annotated[
        tuple[Difference, ...] | None, optional("In what a hit that differs does, the likeliest first.")
    ] = None
    copies: Annotated[
        int | None, optional("The number of hits that this one stands for, itself included; absent without `collapse`.")
    ] = None
    clause: Annotated[
        TextSpan | None,
        optional("What the second look read of the hit: its whole sentence; of a document the nearest one."),
    ] = None
    collection: Annotated[str | None, optional("The hit's collection; only where several were searched.")] = None


@dataclass(frozen=True, slots=True)
class UsedThreshold:
    """The threshold that was applied; null means none."""

    value: float | None
    on: ThresholdOn
    source: Annotated[ThresholdSource, described("Whose it is: the request's, a saved phrase's, or the collection's.")]
    calibration: Annotated[str | None, described("The calibration that scores were made with; null: score is raw.")]


@dataclass(frozen=True, slots=True)
class Filtered:
    """The documents that pass a filter, whether or not they hold a hit."""

    documents: Annotated[int, described("Documents that pass the filter; of `part`, those with a part that does.")]
    of: Annotated[int, described("All documents of the collection.")]
    unknown_keys: Annotated[
        tuple[str, ...], described("Keys of the filter that no document has, such as `document.kidn`.")
    ]


@dataclass(frozen=True, slots=True)
class Total:
    """Exact numbers of all hits: those that reach the threshold, on all pages."""

    documents: Annotated[int, described("Documents that hold one.")]
    spans: Annotated[
        int | None,
        described("Spans that do not overlap; null without a threshold, and in modes whose hits are documents."),
    ]


@dataclass(frozen=True, slots=True)
class Verified:
    """The verdicts of the second look on the best hits, counted."""

    hits: Annotated[int, described("The number of best hits that were read beside the phrase.")]
    likely: Annotated[int, described("Those of them that say it: their probability is 0.5 or more.")]
    complete: Annotated[
        bool,
        described(
            "True if no more are expected: all hits were read, or the last ones are unlikely. False: ask for more by "
            "`verify`."
        ),
    ]


@dataclass(frozen=True, slots=True)
class LikelyMatches:
    """Likely matches: those that are shown, and those of the whole collection, in sentences."""

    shown: Annotated[int, described("Those that are among the hits of this answer.")]
    estimated: Annotated[int, described("Sentences of the collection, within the filter, that are likely matches.")]
    interval: Annotated[
        tuple[int, int],
        described("Where that number lies with a probability of 95 %; both are equal where all were judged."),
    ]


@dataclass(frozen=True, slots=True)
class Arranged:
    """The list that `sort`, `collapse`, `per_document` and `counts` make of hits."""

    hits: Annotated[int, described("The number of hits that were read: all above the threshold, or the best.")]
    listed: Annotated[int, described("Those of them that are listed: what collapsing and `per_document` left.")]
    complete: Annotated[bool, described("False: there are more hits than were read.")]


@dataclass(frozen=True, slots=True)
class Bucket:
    """The hits that have a value, or one in a range or a period, in common."""

    hits: int
    documents: Annotated[int, described("The documents that hold them.")]
    value: Annotated[
        bool | int | float | str | None, optional("The value, or the first day of the period; absent for ranges.")
    ] = None
    at_least: Annotated[float | None, optional("The range's lower border, included; absent for the first.")] = None
    below: Annotated[float | None, optional("Its upper border, excluded; absent for the last.")] = None


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """All hits above the threshold, counted by a key of the metadata."""

    key: Annotated[str, described("As the request has it.")]
    buckets: Annotated[
        tuple[Bucket, ...],
        described("The 100 most frequent values; the last 1,000 periods that have hits, in order; or all ranges."),
    ]
    distinct: Annotated[int, described("The number of buckets with hits, of which some may be left out.")]
    without: Annotated[int, described("Hits that have no value of the kind that is counted.")]


# What every answer may say beside its hits.
Degraded: TypeAlias = Annotated[
    tuple[str, ...] | None, optional("The damage of segments that were not searched; absent if all were.")
]
OfFilter: TypeAlias = Annotated[Filtered | None, optional("What the filter left; absent without a filter.")]
OfTotal: TypeAlias = Annotated[Total | None, optional("Absent unless requested.")]
OfVerified: TypeAlias = Annotated[
    Verified | Literal[False] | None,
    optional("False: the second look had no room or no time; absent where none was asked for, or there is none."),
]
OfArranged: TypeAlias = Annotated[
    Arranged | None, optional("Absent without `sort`, `collapse`, `per_document` and `counts`.")
]
OfCounts: TypeAlias = Annotated[tuple[KeyCounts, ...] | None, optional("One for each of `counts`; absent without.")]
Cursor: TypeAlias = Annotated[str | None, optional("The cursor of the next page; absent on the last.")]
OfLikely: TypeAlias = Annotated[LikelyMatches | None, optional("Absent unless requested by `estimate`.")]
Notice: TypeAlias = Annotated[str | None, optional("Said of a query without words; absent for all others.")]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, all from one generation of the collection."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "hits": [
                        {
                            "document_id": "call-17",
                            "start": 42,
                            "end": 62,
                            "text": "stop my monthly plan",
                            "score": 0.87,
                            "raw": 0.87,
                            "mode": "best_span",
                            "rank": 1,
                            "metadata": {"kind": "conversation"},
                            "part_metadata": {"speaker": "customer"},
                            "probability": 0.91,
                            "verdict": "match",
                            "clause": {"start": 35, "end": 63, "text": "Please stop my monthly plan."},
                        }
                    ],
                    "generation": 3,
                    "threshold": {"value": 0.5, "on": "score", "source": "request", "calibration": "7f3a..."},
                    "took_ms": 38.4,
                    "verified": {"hits": 20, "likely": 1, "complete": True},
                }
            ]
        }
    )

    hits: tuple[Hit, ...]
    generation: int
    threshold: UsedThreshold
    took_ms: float
    degraded: Degraded = None
    filtered: OfFilter = None
    total: OfTotal = None
    verified: OfVerified = None
    likely: OfLikely = None
    notice: Notice = None
    arranged: OfArranged = None
    counts: OfCounts = None
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class QueryError:
    """The error of one query of a batch."""

    code: Annotated[str, described("A stable error code.")]
    detail: str
    hint: str
    field: Annotated[str | None, optional("The field of the query that is at fault, if one is.")] = None


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """A query of a batch that cannot be answered; the others are."""

    error: QueryError


@dataclass(frozen=True, slots=True)
class SearchAnswers:
    """One answer or error for every query, in their order."""

    results: tuple[SearchAnswer | FailedQuery, ...]


@dataclass(frozen=True, slots=True)
class SearchedCollection:
    """One of several collections in an answer: its generation, threshold and counts."""

    name: str
    generation: int
    threshold: UsedThreshold
    degraded: Degraded = None
    filtered: OfFilter = None
    total: OfTotal = None
    verified: OfVerified = None
    likely: OfLikely = None


@dataclass(frozen=True, slots=True)
class CollectionsAnswer:
    """The best hits of several collections, best first, each with its `collection`."""

    hits: tuple[Hit, ...]
    collections: Annotated[tuple[SearchedCollection, ...], described("In the order of the request.")]
    took_ms: float


@dataclass(frozen=True, slots=True)
class ExportEnd:
    """The last line of an export."""

    hits: Annotated[int, described("The number of lines before.")]
    complete: Annotated[bool, described("False: there are more hits than `limit`.")]
    generation: int
    threshold: UsedThreshold
    degraded: Degraded = None
    filtered: OfFilter = None
    arranged: OfArranged = None
    cursor: Annotated[str | None, optional("Where to go on; absent if the export is complete.")] = None
