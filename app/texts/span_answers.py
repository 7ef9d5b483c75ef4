"""Answers of ``POST /spans`` and ``spanseek spans``."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict

from app.answers import described, optional
from app.search.answers import Hit, UsedThreshold, Verified
from models.errors import InvalidInput
from models.types import Document

MAX_TEXTS = 1_000
MAX_CHARACTERS = 1_000_000
MAX_TEXT_PARTS = 20_000


class TooMuchText(InvalidInput):
    """One request has more texts, parts or characters than it may have."""

    code = "too_much_text"


class TooManySentences(InvalidInput):
    """Texts have more sentences than one request may summarize or restore."""

    code = "too_many_sentences"


@dataclass(frozen=True, slots=True)
class TextHit(Hit):
    """A span of a text, with the fields of a hit of a search; ``document_id`` is the text's id."""

    phrase: Annotated[int, described("The number of its phrase in the request, from 0.")] = 0


@dataclass(frozen=True, slots=True)
class TextSpans:
    """The best spans of one text, best first; `rank` counts the spans of one phrase."""

    id: Annotated[str, described("The text's id; its number in the request, from 0, where it was given none.")]
    hits: tuple[TextHit, ...]


@dataclass(frozen=True, slots=True)
class SpansAnswer:
    """The best spans of every text, in the order of the texts."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "results": [
                        {
                            "id": "doc-7",
                            "hits": [
                                {
                                    "document_id": "doc-7",
                                    "start": 8,
                                    "end": 28,
                                    "text": "stop my monthly plan",
                                    "score": 0.83,
                                    "raw": 0.87,
                                    "mode": "best_span",
                                    "rank": 1,
                                    "metadata": {},
                                    "probability": 0.91,
                                    "verdict": "match",
                                    "clause": {"start": 1, "end": 29, "text": "Please stop my monthly plan."},
                                    "phrase": 0,
                                }
                            ],
                        },
                        {"id": "doc-9", "hits": []},
                    ],
                    "threshold": {"value": 0.5, "on": "score", "source": "request", "calibration": "default"},
                    "took_ms": 61.2,
                    "verified": [{"hits": 1, "likely": 1, "complete": True}],
                }
            ]
        }
    )

    results: tuple[TextSpans, ...]
    threshold: UsedThreshold
    took_ms: float
    verified: Annotated[
        tuple[Verified, ...] | None,
        optional("The hits of every phrase that were read, counted; absent without the second look."),
    ] = None


def check_size(texts: tuple[Document, ...]) -> None:
    """Raise ``TooMuchText`` for more texts, parts or characters than one request may have.

    >>> from models.types import Part
    >>> check_size((Document("a", (Part("x" * 1_000_001),)),))
    Traceback (most recent call last):
    app.texts.span_answers.TooMuchText: The texts have 1,000,001 characters; one request may have 1,000,000.
    """
    sizes = (
        ("texts", len(texts), MAX_TEXTS),
        ("parts", sum(len(text.parts) for text in texts), MAX_TEXT_PARTS),
        ("characters", sum(len(part.text) for text in texts for part in text.parts), MAX_CHARACTERS),
    )
    for noun, size, most in sizes:
        if size > most:
            there = f"There are {size:,} texts" if noun == "texts" else f"The texts have {size:,} {noun}"
            raise TooMuchText(
                f"{there}; one request may have {most:,}.", hint="Send them in several requests.", field="texts"
            )
