"""Requests and answers of ``POST /restore`` and ``POST /vectors``, and of their commands."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict

from app.answers import described, optional
from app.texts.requests import SpanRange
from indexer.engine.query import Filter
from models.encoders.restorable.base import Memory

MAX_RESTORED = 256
MAX_BEAMS = 8
MAX_SENTENCES = 1_024


@dataclass(frozen=True, slots=True)
class GivenVectors:
    """Vectors of texts, as ``POST /vectors`` gives them, and the fingerprint of the model that made them."""

    texts: tuple[Memory, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class StoredSpans:
    """Spans of a collection's documents: the sentences that they touch are restored."""

    collection: str
    spans: tuple[SpanRange, ...]
    filter: Filter = field(default_factory=Filter)


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """Vectors, or spans, to be restored. A text whose confidence is below ``warn_below`` comes with a warning."""

    vectors: GivenVectors | None = None
    stored: StoredSpans | None = None
    beams: int = 1
    warn_below: float | None = None


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """A token of a restored text; a last one, without text, is its end."""

    text: str
    confidence: Annotated[float, described("The probability that the model gave it, 0 to 1.")]


@dataclass(frozen=True, slots=True)
class RestoredTextAnswer:
    """A restored text."""

    text: str
    confidence: Annotated[float, described("The confidence of its least certain token.")]
    tokens: tuple[TokenAnswer, ...]
    warning: Annotated[str | None, optional("The confidence is below `warn_below`.")] = None
    document_id: Annotated[str | None, optional("Of a stored span.")] = None
    start: Annotated[int | None, optional("Where its sentences start in the document, in code points.")] = None
    end: Annotated[int | None, optional("Where they end.")] = None


@dataclass(frozen=True, slots=True)
class RestoreAnswer:
    """The restored texts, in the order of the request."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "texts": [
                        {
                            "text": "Stop my plan.",
                            "confidence": 0.98,
                            "tokens": [
                                {"text": "Stop", "confidence": 0.99},
                                {"text": " my plan.", "confidence": 0.98},
                                {"text": "", "confidence": 0.99},
                            ],
                        }
                    ],
                    "fingerprint": "restorable:5be0...",
                }
            ]
        }
    )

    texts: tuple[RestoredTextAnswer, ...]
    fingerprint: Annotated[str, described("Identifies the model; vectors of another are refused.")]


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors of texts."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={
            "examples": [{"vectors": [[[0.3, -1.2]]], "fingerprint": "restorable:5be0...", "dim": 2, "compared": 1}]
        }
    )

    vectors: Annotated[
        tuple[tuple[tuple[float, ...], ...], ...], described("For every text a vector for every stretch of it.")
    ]
    fingerprint: str
    dim: Annotated[int, described("The length of a vector.")]
    compared: Annotated[int, described("How many of its first numbers searches compare.")]
