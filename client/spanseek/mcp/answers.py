"""Answers of tools: small, and every text with the place where it stands."""

from dataclasses import dataclass, field
from typing import Any

from spanseek.models import Hit, TextHit

# Of one answer. A model reads on with ``start``.
LONGEST_READ = 20_000


@dataclass(frozen=True, kw_only=True)
class Found:
    """A span: characters ``start`` to ``end`` of the document are ``text``.

    If it is ``restored`` from vectors, ``text`` is a guess, which must not be quoted.
    """

    cite: str
    document_id: str
    start: int
    end: int
    text: str
    context: str | None = None
    score: float
    verdict: str | None = None
    differs: list[str] | None = None
    restored: bool | None = None
    confidence: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, hit: Hit | TextHit) -> "Found":
        """A hit, reduced to the fields that a reader needs."""
        return cls(
            cite=f"{hit.document_id}[{hit.start}:{hit.end}]",
            document_id=hit.document_id,
            start=hit.start,
            end=hit.end,
            text=hit.text,
            context=hit.context.text if hit.context else None,
            score=round(hit.score, 3),
            verdict=hit.verdict or hit.match,
            differs=hit.differs,
            restored=hit.restored,
            confidence=hit.confidence,
            metadata=hit.metadata | (hit.part_metadata or {}),
        )


@dataclass(frozen=True, kw_only=True)
class Hits:
    """The best spans, best first. ``likely`` of those that were read say the phrase; there may be more if not
    ``complete``."""

    hits: list[Found]
    likely: int | None = None
    complete: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Extract:
    """Characters ``start`` to ``end`` of a document of ``characters``, or of the text that is ``restored`` for it."""

    document_id: str
    start: int
    end: int
    characters: int
    text: str
    restored: bool | None = None
    confidence: float | None = None
    metadata: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Quotation:
    """The place where a document says something word for word; else its nearest span.

    Nothing is verified by a text that is ``restored`` from vectors.
    """

    verified: bool
    cite: str | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None
    occurrences: int = 0
    nearest: Found | None = None
    restored: bool | None = None
    confidence: float | None = None


@dataclass(frozen=True, kw_only=True)
class CountLine:
    """The numbers of a phrase's hits and their documents; with ``key``, of those whose metadata has ``value``.

    If not ``complete``, the phrase has more of them.
    """

    phrase: str
    hits: int
    documents: int
    complete: bool
    key: str | None = None
    value: Any = None


@dataclass(frozen=True, kw_only=True)
class CollectionLine:
    """A collection."""

    name: str
    documents: int
    texts_are_stored: bool


@dataclass(frozen=True, kw_only=True)
class PhraseLine:
    """A saved phrase."""

    name: str
    text: str
    note: str


@dataclass(frozen=True, kw_only=True)
class MatchLine:
    """An event of a saved phrase's match: ``matched`` or ``withdrawn``."""

    event: str
    phrase: str
    cite: str
    text: str | None
    score: float | None


@dataclass(frozen=True, kw_only=True)
class Matches:
    """Matches in the order of their events; ``cursor`` reads on from here, later, too."""

    matches: list[MatchLine]
    cursor: str
    more: bool
