"""Answers of a search: hits, and what is said beside them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict

from app.answers import described, optional
from app.search.types import Hit
from indexer.tuning import ThresholdOn

ThresholdSource = Literal["request", "auto", "phrase", "collection", "none"]


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
