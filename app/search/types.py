"""Requests and hits of a search, for HTTP, the command line and Python."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol, TypeAlias, Union

from pydantic import GetCoreSchemaHandler, GetPydanticSchema
from pydantic_core import CoreSchema

from app.answers import described, optional
from indexer.engine.query import Filter, Grouping, SpanLengths
from indexer.segments.text import OffsetUnit
from indexer.tuning import ThresholdOn
from models.text.borders import Boundary
from models.text.stemming import Language

# The names of the entry points of this group, which are classes of search modes (CONTRIBUTING.md, "Add a search mode").
MODES: Final = "spanseek.modes"
if TYPE_CHECKING:
    Mode: TypeAlias = str
else:
    Mode = Literal[tuple(sorted(entry_points(group=MODES).names))]
# What hits are ranked by; the paper ranks by the cosine alone.
Ranking = Literal["span_score", "cosine"]
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
class TextSpan:
    """A span of a text: its offsets and its text."""

    start: int
    end: int
    text: str


class Explanation(Protocol):
    """What a mode says of a hit's score: a dataclass, which the mode's class names as its ``explanation``."""

    def lines(self) -> Iterator[str]:
        """The explanation in lines, for the command line."""


def _explanations(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    """The schema of the explanations of all modes, which are loaded when it is first asked for."""
    from app.search.mode import mode_classes

    kinds = dict.fromkeys(mode.explanation for mode in mode_classes().values() if mode.explanation is not None)
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
        Explanation | None,
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
    highlights: Annotated[
        tuple[TextSpan, ...] | None, optional("The query's words in the hit; in mode lexical alone.")
    ] = None
    collection: Annotated[str | None, optional("The hit's collection; only where several were searched.")] = None
