"""Requests and answers of ``POST /compare`` and ``POST /summarize``, and of their commands."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict

from app.answers import ItemError, described, optional
from app.requests import ModeName
from app.texts.requests import SpanRange
from indexer.engine.query import Filter
from indexer.segments.text import OffsetUnit
from models.types import Document

MAX_COMPARED = 10_000
MAX_SENTENCES = 5_000
MAX_CHOSEN = 100
MAX_SPANS = 1_000

Side = Literal["first", "second"]


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """Two texts. With a collection its encoder, nuggets and calibrations apply; else the server's."""

    first: str
    second: str
    collection: str | None = None


@dataclass(frozen=True, slots=True)
class ModeSimilarity:
    """The similarity of two texts in one mode: the first is the query, the second the text."""

    mode: ModeName
    raw: Annotated[float | None, optional("From 0 to 1, as a search has it.")] = None
    score: Annotated[float | None, optional("By the calibration that applies; raw without one.")] = None
    error: Annotated[ItemError | None, optional("Why the mode cannot compare them.")] = None


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet by the words nearest to it."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FacetComparison:
    """The facets of two texts."""

    distance: Annotated[float, described("SC of the paper's eq. 5: how badly the facets of either make the other's.")]
    first: tuple[Facet, ...]
    second: tuple[Facet, ...]


@dataclass(frozen=True, slots=True)
class Direction:
    """The more general one of two phrases."""

    more_general: Annotated[Side | None, described("Null where nothing tells.")]
    difference: Annotated[
        float, described("Above 0 where the first is more general: Diff of eq. 8, and the frequencies of words.")
    ]


@dataclass(frozen=True, slots=True)
class CompareAnswer:
    """The similarity of two texts in every mode, their facets and their direction."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "similarities": [{"mode": "best_span", "raw": 0.81, "score": 0.7}],
                    "facets": {
                        "distance": 3.1,
                        "first": [{"words": ["cancel", "revoke"]}],
                        "second": [{"words": ["stop", "halt"]}],
                    },
                    "direction": {"more_general": "second", "difference": -0.4},
                }
            ]
        }
    )

    similarities: tuple[ModeSimilarity, ...]
    facets: Annotated[FacetComparison | None, described("Null where a text has no word that the word vectors have.")]
    direction: Annotated[Direction | None, described("Null in the same case.")]


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """Documents of a collection, whole or the sentences that some of their spans touch, such as hits."""

    collection: str
    document_ids: tuple[str, ...] = ()
    spans: tuple[SpanRange, ...] = ()
    filter: Filter = field(default_factory=Filter)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """Texts, stored or given, and how many sentences to choose of all of them."""

    stored: StoredTexts | None = None
    texts: tuple[Document, ...] = ()
    sentences: int = 3
    offset_unit: OffsetUnit = "codepoint"


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A chosen sentence, with offsets in its document."""

    document_id: str
    start: int
    end: int
    text: str
    rank: Annotated[int, described("1 was chosen first.")]
    coverage: Annotated[float, described("How well the words are covered by the sentences up to this rank, up to 1.")]


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """The chosen sentences, in the order of the texts."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "sentences": [
                        {
                            "document_id": "call-3",
                            "start": 15,
                            "end": 42,
                            "text": "The provider changed a fee.",
                            "rank": 1,
                            "coverage": 0.41,
                        }
                    ],
                    "of": 12,
                }
            ]
        }
    )

    sentences: tuple[SummarySentence, ...]
    of: Annotated[int, described("The number of sentences to choose from.")]
