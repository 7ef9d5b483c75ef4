"""Requests and answers of a search, for HTTP, the command line and Python."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from indexer.engine.query import Filter, Grouping
from indexer.segments.text import OffsetUnit
from indexer.tuning import ThresholdOn
from models.types import JsonValue

# A mode is implemented by app/search/NAME; to add one, add its name here (CONTRIBUTING.md, "Add a search mode").
Mode = Literal["best_span", "maxsim"]
ThresholdSource = Literal["request", "phrase", "collection", "none"]

MAX_TOP_K = 1000
MAX_CONTEXT = 1000


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query, which is a text or a vector, and which hits to return.

    Without a threshold the collection's applies, on its own scale; 0 returns everything. Without ``group_by``
    every span, or every document in modes that return documents, is a hit.
    """

    collection: str
    text: str | None = None
    vector: tuple[float, ...] | None = None
    mode: Mode = "best_span"
    top_k: int = 10
    group_by: Grouping | None = None
    threshold: float | None = None
    threshold_on: ThresholdOn = "score"
    filter: Filter = field(default_factory=Filter)
    offset_unit: OffsetUnit = "codepoint"
    context: int = 0
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """The hit's surroundings within its part; ``text[start:end]`` of them, in code points, is the hit."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class UnitContribution:
    """What one unit adds to the cosine of its span."""

    start: int
    end: int
    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The cosine, and the units' contributions that add up to it."""

    cosine: float
    units: tuple[UnitContribution, ...]


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Where something stands in a text, and what it says."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class NuggetPair:
    """A vector of the query, and the document's nugget that answers it best.

    ``query`` and ``stretch`` are the texts that the two stand for, each from the nugget before it to its own end;
    ``nugget`` is the document's token itself. A query that was given as a vector has no text. ``contribution`` is what
    the pair adds to the document's cosine.
    """

    query: TextSpan | None
    nugget: TextSpan
    stretch: TextSpan
    cosine: float
    contribution: float


@dataclass(frozen=True, slots=True)
class PairedExplanation:
    """The mean cosine of the pairs, and the pairs, whose contributions add up to it."""

    cosine: float
    pairs: tuple[NuggetPair, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """What was found, a span or, in mode maxsim, a document: where it stands, what it says, how similar it is."""

    document_id: str
    start: int
    end: int
    text: str
    score: float
    raw: float
    mode: Mode
    rank: int
    metadata: Mapping[str, JsonValue]
    part_metadata: Mapping[str, JsonValue] | None = None
    context: Context | None = None
    explanation: Explanation | PairedExplanation | None = None


@dataclass(frozen=True, slots=True)
class UsedThreshold:
    """The threshold that was applied, on which scale, who set it, and the calibration that scores were made with.

    No value means that none was applied, no calibration that score is raw.
    """

    value: float | None
    on: ThresholdOn
    source: ThresholdSource
    calibration: str | None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, from one generation of the collection."""

    hits: tuple[Hit, ...]
    generation: int
    threshold: UsedThreshold
    took_ms: float


def answer_as_json(answer: SearchAnswer) -> dict[str, JsonValue]:
    """The answer as every interface shows it; what a hit was not asked for is left out of it."""
    return {
        "hits": [_hit_as_json(hit) for hit in answer.hits],
        "generation": answer.generation,
        "threshold": asdict(answer.threshold),
        "took_ms": answer.took_ms,
    }


def _hit_as_json(hit: Hit) -> dict[str, JsonValue]:
    # Shallow: `asdict` would copy every hit's metadata, at ten times the cost.
    values = {name: getattr(hit, name) for name in Hit.__slots__}
    if hit.context is not None:
        values["context"] = asdict(hit.context)
    if hit.explanation is not None:
        values["explanation"] = asdict(hit.explanation)
    return {name: value for name, value in values.items() if value is not None}
