"""The nouns of saved phrases: the draft, the phrase, the match, and the event that tells of it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from indexer.engine.query import Filter
from indexer.tuning import Threshold, ThresholdOn, Tuning
from models.types import CharSpan

# What phrases are matched by.
MODE = "best_span"

Saved = Literal["created", "changed", "unchanged"]
EventKind = Literal["matched", "withdrawn"]
Reason = Literal["document_changed", "document_deleted", "phrase_changed", "phrase_deleted", "rematched"]


@dataclass(frozen=True, slots=True)
class PhraseDraft:
    """A phrase to save. Without a threshold the collection's applies."""

    name: str
    text: str
    threshold: float | None = None
    threshold_on: ThresholdOn = "score"
    filter: Filter = field(default_factory=Filter)
    note: str = ""


@dataclass(frozen=True, slots=True)
class PhraseChanges:
    """What should become of a saved phrase; None leaves it as it is."""

    text: str | None = None
    filter: Filter | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """A saved phrase. ``own`` has its own threshold, if it has one, ``collection`` the collection's, of one moment."""

    name: str
    text: str
    filter: Filter
    note: str
    created_at: datetime
    changed_at: datetime
    own: Tuning
    collection: Tuning

    @property
    def threshold(self) -> Threshold | None:
        """The threshold that it is matched with: its own, else the collection's, else none, and nothing matches."""
        return self.own.present_threshold or self.collection.present_threshold


@dataclass(frozen=True, slots=True)
class Match:
    """A span of a document that reaches a phrase's threshold."""

    phrase: str
    document_id: str
    span: CharSpan
    text: str
    score: float
    raw: float


@dataclass(frozen=True, slots=True)
class Matches:
    """What one version of a collection's phrases finds, and the calibration that scores were made with."""

    version: int
    calibration: str | None
    found: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class EventCursor:
    """Behind which event a reader stands, and up to which one withdrawn matches were forgotten when it read."""

    number: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class MatchEvent:
    """A match was found, or is withdrawn. ``id`` is the match's, the same in both; a withdrawn one has no text."""

    number: int
    kind: EventKind
    at: datetime
    id: int
    phrase: str
    document_id: str
    span: CharSpan
    text: str | None
    score: float
    raw: float
    calibration: str | None
    generation: int
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class EventRead:
    """Some events, in their order, and the cursor to go on with; ``more`` are there already."""

    events: tuple[MatchEvent, ...]
    cursor: EventCursor
    more: bool
