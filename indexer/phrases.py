"""The nouns of saved phrases: the draft, the phrase, the match, and the event that tells of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from indexer.engine.multi_query import ManyQueries
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


@dataclass(frozen=True)
class PhraseSet:
    """All phrases of a collection, and its tuning, as they were at one moment.

    ``changed_in`` says in which version of the set a phrase became what it is, ``thresholds`` has their own ones.

    >>> from indexer.tuning import Threshold
    >>> own = Threshold(0.9, "raw", 0.9)
    >>> names, filters, queries = ("a", "b"), (Filter(), Filter()), ManyQueries(np.eye(2, dtype=np.float32))
    >>> phrases = PhraseSet(1, names, filters, (own, None), (1, 1), queries, Tuning())
    >>> phrases.cosine_floors.round(3).tolist()  # the other has no threshold at all
    [0.8, inf]
    """

    version: int
    names: tuple[str, ...]
    filters: tuple[Filter, ...]
    thresholds: tuple[Threshold | None, ...]
    changed_in: tuple[int, ...]
    queries: ManyQueries
    tuning: Tuning

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def applied(self) -> tuple[Threshold | None, ...]:
        """The threshold of every phrase as it was set: its own, or else the collection's."""
        return tuple(own or self.tuning.threshold for own in self.thresholds)

    @cached_property
    def on_raw(self) -> Bool[np.ndarray, " queries"]:
        """Which of the thresholds are on raw; the others are on score."""
        return np.array([one is not None and one.on == "raw" for one in self.applied], bool)

    @cached_property
    def values(self) -> Float[np.ndarray, " queries"]:
        """The thresholds as they are now, each on its scale; infinite, so that nothing reaches it, for none."""
        none = Threshold(np.inf, "raw", np.inf, self.tuning.calibration_id)
        kept = [one or none for one in self.applied]
        values = np.array([one.value for one in kept], np.float64)
        # As ``Tuning.present_threshold``, for all at once: what was set under another calibration is told by its raw.
        moved = np.array([one.on == "score" and one.calibration != self.tuning.calibration_id for one in kept], bool)
        values[moved] = self.tuning.scores(np.array([one.raw for one in kept], np.float64)[moved])
        return values

    @cached_property
    def cosine_floors(self) -> Float[np.ndarray, " queries"]:
        """For every phrase a cosine that nothing lies under which reaches its threshold."""
        there = np.isfinite(self.values)
        floors = np.full(len(self), np.inf)
        floors[there] = self.tuning.cosine_floors(self.values[there], self.on_raw[there])
        return floors

    def take(self, rows: Sequence[int]) -> "PhraseSet":
        """Some of the phrases."""
        return PhraseSet(
            self.version,
            tuple(self.names[row] for row in rows),
            tuple(self.filters[row] for row in rows),
            tuple(self.thresholds[row] for row in rows),
            tuple(self.changed_in[row] for row in rows),
            ManyQueries(self.queries.vectors[np.array(rows, np.int64)]),
            self.tuning,
        )
