"""Saved phrases: drafts, phrases, matches and their events, and the phrases of a collection in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from indexer.arrays import SpanTerms
from indexer.engine.query import Filter
from indexer.tuning import Auto, Threshold, ThresholdOn, Tuning, check_threshold
from models.ops.span_score import COSINE, SpanScore
from models.types import CharSpan, QueryVectors
from models.verifier.types import Verdict

if TYPE_CHECKING:
    from indexer.engine.multi_query import QueryBatch

# The mode that phrases are matched in.
MODE = "best_span"

Saved = Literal["created", "changed", "unchanged"]
EventKind = Literal["matched", "withdrawn"]
Reason = Literal["document_changed", "document_deleted", "phrase_changed", "phrase_deleted", "rematched"]


@dataclass(frozen=True, slots=True)
class PhraseDraft:
    """A phrase to save. Without a threshold the collection's applies; with ``auto`` it has its likely matches."""

    name: str
    text: str
    threshold: float | Auto | None = None
    threshold_on: ThresholdOn = "score"
    filter: Filter = field(default_factory=Filter)
    note: str = ""
    tags: tuple[str, ...] = ()
    paused: bool = False
    likely_only: bool = False

    @property
    def number(self) -> float | None:
        """The threshold as it is stored. Raises ``InvalidInput`` for ``auto``, which is not a number yet."""
        check_threshold(self.threshold)
        return cast("float | None", self.threshold)


@dataclass(frozen=True, slots=True)
class PhraseChanges:
    """Changes of a saved phrase; None leaves a field as it is."""

    text: str | None = None
    filter: Filter | None = None
    note: str | None = None
    tags: tuple[str, ...] | None = None
    paused: bool | None = None
    likely_only: bool | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """A saved phrase. ``own`` has its own threshold, if any, and ``collection`` the collection's, read together.

    A paused one keeps its matches, and gets no further ones.
    """

    name: str
    text: str
    filter: Filter
    note: str
    tags: tuple[str, ...]
    paused: bool
    likely_only: bool
    created_at: datetime
    changed_at: datetime
    own: Tuning
    collection: Tuning

    @property
    def threshold(self) -> Threshold | None:
        """The threshold in force: its own, else the collection's. Without either nothing matches."""
        return self.own.present_threshold or self.collection.present_threshold

    def asks_anew(self, before: "Phrase") -> bool:
        """True if existing documents may match otherwise than before, since it changed or is paused no longer."""
        query, earlier = ((each.text, each.filter, each.likely_only) for each in (self, before))
        return not self.paused and (before.paused or earlier != query)


@dataclass(frozen=True, slots=True)
class Match:
    """A span of a document that reaches a phrase's threshold, and what the second look says of it, if it was judged."""

    phrase: str
    document_id: str
    span: CharSpan
    text: str
    score: float
    raw: float
    tags: tuple[str, ...] = ()
    probability: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of one version of a collection's phrases, and the calibration of their scores."""

    version: int
    calibration: str | None
    matches: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class EventCursor:
    """The last event that a reader has read, and the last deleted one at that time."""

    number: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class MatchEvent:
    """A match was added or withdrawn. ``id`` names the match in both events; a withdrawn one has no text."""

    number: int
    kind: EventKind
    at: datetime
    id: int
    phrase: str
    tags: tuple[str, ...]
    document_id: str
    span: CharSpan
    text: str | None
    score: float
    raw: float
    calibration: str | None
    generation: int
    reason: Reason | None
    probability: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class EventRead:
    """Events in order, and the cursor that continues after them; ``more`` if there are further events."""

    events: tuple[MatchEvent, ...]
    cursor: EventCursor
    more: bool

    def through(self, event: MatchEvent) -> EventCursor:
        """The cursor that continues after one of the events."""
        return EventCursor(event.number, self.cursor.forgotten)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The matches whose events are read: those of some phrases, those that have one of some tags, or all.

    With both, matches that fulfil both.
    """

    phrases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


ALL_EVENTS: Final = EventFilter()


@dataclass(frozen=True)
class PhraseSet:
    """All phrases of a collection that are not paused, and its tuning, read at one moment.

    ``thresholds`` are the phrases' own ones. ``changed_in`` is the version of the set that last changed each phrase.

    >>> own = Threshold(0.9, "raw", 0.9)
    >>> names, filters, vectors = ("a", "b"), (Filter(), Filter()), np.eye(2, dtype=np.float32)
    >>> phrases = PhraseSet(1, names, filters, (own, None), (1, 1), vectors, Tuning())
    >>> phrases.cosine_floors.round(3).tolist()  # the second phrase has no threshold
    [0.8, inf]
    """

    version: int
    names: tuple[str, ...]
    filters: tuple[Filter, ...]
    thresholds: tuple[Threshold | None, ...]
    changed_in: tuple[int, ...]
    vectors: QueryVectors
    tuning: Tuning
    # Of their texts: units, without which no span is too short, and sentences; one each, if not given.
    units: Int[np.ndarray, " queries"] | None = None
    sentences: Int[np.ndarray, " queries"] | None = None
    score: SpanScore = COSINE
    terms: tuple[tuple[str, ...], ...] | None = None  # the folded words of their texts, in a collection with words
    tags: tuple[tuple[str, ...], ...] | None = None  # none of any, if not given
    texts: tuple[str, ...] = ()
    likely_only: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def queries(self) -> "QueryBatch":
        """The vectors, as the kernels read them."""
        from indexer.engine.multi_query import QueryBatch  # imports numba, which only matching needs

        units = np.zeros(len(self), np.int64) if self.units is None else self.units
        return QueryBatch(self.vectors, SpanTerms.of(self.score, units, self.sentences))

    @cached_property
    def applied(self) -> tuple[Threshold | None, ...]:
        """The threshold of every phrase as it was set: its own, else the collection's."""
        return tuple(own or self.tuning.threshold for own in self.thresholds)

    @cached_property
    def on_raw(self) -> Bool[np.ndarray, " queries"]:
        """A mask of the thresholds on raw; the others are on score."""
        return np.array([threshold is not None and threshold.on == "raw" for threshold in self.applied], bool)

    @cached_property
    def values(self) -> Float[np.ndarray, " queries"]:
        """The current thresholds, each on its scale; infinite for phrases without one."""
        active = self.tuning.calibration_id
        none = Threshold(np.inf, "raw", np.inf, active)
        thresholds = [threshold or none for threshold in self.applied]
        values = np.array([threshold.value for threshold in thresholds], np.float64)
        raws = np.array([threshold.raw for threshold in thresholds], np.float64)
        # Vectorized ``Tuning.present_threshold``.
        outdated = np.array([each.on == "score" and each.calibration != active for each in thresholds], bool)
        values[outdated] = self.tuning.scores(raws[outdated])
        return values

    @cached_property
    def cosine_floors(self) -> Float[np.ndarray, " queries"]:
        """For every phrase a lower bound on the cosines of spans that reach its threshold; infinite without one."""
        finite = np.isfinite(self.values)
        floors = np.full(len(self), np.inf)
        floors[finite] = self.tuning.cosine_floors(self.values[finite], self.on_raw[finite])
        return floors

    def with_tuning(self, tuning: Tuning) -> "PhraseSet":
        """The same phrases under another tuning. ``queries`` is shared: it does not depend on it."""
        phrases = replace(self, tuning=tuning)
        if "queries" in vars(self):
            vars(phrases)["queries"] = self.queries
        return phrases

    def take(self, rows: Sequence[int]) -> "PhraseSet":
        """Some of the phrases."""
        chosen = np.array(rows, np.int64)
        return replace(
            self,
            names=tuple(self.names[row] for row in rows),
            filters=tuple(self.filters[row] for row in rows),
            thresholds=tuple(self.thresholds[row] for row in rows),
            changed_in=tuple(self.changed_in[row] for row in rows),
            vectors=self.vectors[chosen],
            units=None if self.units is None else self.units[chosen],
            sentences=None if self.sentences is None else self.sentences[chosen],
            terms=None if self.terms is None else tuple(self.terms[row] for row in rows),
            tags=None if self.tags is None else tuple(self.tags[row] for row in rows),
            texts=tuple(self.texts[row] for row in rows) if self.texts else (),
            likely_only=tuple(self.likely_only[row] for row in rows) if self.likely_only else (),
        )


class PhraseSets:
    """The phrases of all collections in memory. Safe to share between threads.

    ``read`` returns the present phrases of a collection, given its id and the phrases that were read before, if any.
    """

    def __init__(self, read: Callable[[str, PhraseSet | None], PhraseSet]) -> None:
        self._read = read
        self._sets: dict[str, PhraseSet] = {}
        self._lock = Lock()

    def present(self, collection_id: str) -> PhraseSet:
        """The collection's current phrases and tuning. Vectors are read again only after a change of the phrases."""
        with self._lock:
            self._sets[collection_id] = phrases = self._read(collection_id, self._sets.get(collection_id))
            return phrases
