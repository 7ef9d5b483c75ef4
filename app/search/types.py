"""Hits of a search, for HTTP, the command line and Python."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, Union

from pydantic import GetCoreSchemaHandler, GetPydanticSchema
from pydantic_core import CoreSchema

from app.answers import described, optional
from app.requests import Mode
from indexer.segments.text import OffsetUnit
from models.types import CharSpan
from models.verifier.types import Difference, Verdict


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


class Explanation(Protocol):
    """The explanation of a hit's score: a dataclass, which the mode's class names as its ``explanation``."""

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
        optional("`negated`: the hit is denied, the query is not, and its verdict is no match. English only."),
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
