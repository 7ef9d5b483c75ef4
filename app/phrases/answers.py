"""Answers about saved phrases and their matches."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from app.answers import ItemError, described, optional
from app.search.answers import ThresholdSource
from indexer.engine.query import Filter
from indexer.filters.strings import printed
from indexer.indexing.matching import Rematched
from indexer.phrases import EventKind, MatchEvent, Phrase, Reason, Saved
from indexer.tuning import Threshold, ThresholdOn
from indexer.types import Collection
from indexer.words.recipe import has_words
from models.errors import SpanseekError
from models.fields import converted
from models.types import JsonValue
from models.verifier.types import Verdict


@dataclass(frozen=True, slots=True)
class AppliedThreshold:
    """The threshold of a phrase's matches; a phrase whose threshold is null matches nothing."""

    value: float | None
    on: ThresholdOn
    source: Annotated[ThresholdSource, described("phrase, collection or none.")]

    @classmethod
    def of(cls, phrase: Phrase) -> "AppliedThreshold":
        """The threshold that applies to a phrase."""
        applied = phrase.threshold
        if applied is None:
            return cls(None, "score", "none")
        return cls(applied.value, applied.on, "collection" if phrase.own.threshold is None else "phrase")


@dataclass(frozen=True, slots=True)
class FilterDescription:
    """A filter as requests take it."""

    document: dict[str, JsonValue]
    part: dict[str, JsonValue]
    expression: Annotated[str | None, optional("The expression as a string; absent without one.")] = None

    @classmethod
    def of(cls, filter: Filter) -> "FilterDescription":
        """A filter as an answer."""
        expression = None if filter.expression is None else printed(filter.expression)
        return cls(dict(filter.document), dict(filter.part), expression)


@dataclass(frozen=True, slots=True)
class Backfill:
    """The matching of existing documents: done at once (``rematched``), left to a ``task``, or not done at all."""

    rematched: Rematched | None = None
    task: str | None = None


NO_BACKFILL: Final = Backfill()


@dataclass(frozen=True, slots=True)
class PhraseDescription:
    """A saved phrase."""

    name: str
    text: str
    threshold: Annotated[
        Threshold | None,
        described("Its own threshold under the active calibration; null: the collection's applies."),
    ]
    as_set: Annotated[
        Threshold | None, described("Its own threshold as it was set, possibly under another calibration.")
    ]
    applies: AppliedThreshold
    filter: FilterDescription
    note: str
    tags: Annotated[tuple[str, ...], described("The groups that it belongs to, in order.")]
    paused: Annotated[bool, described("A paused phrase keeps its matches, and gets no further ones.")]
    likely_only: Annotated[bool, described("Matches that the second look does not call likely are left out.")]
    created_at: datetime
    changed_at: datetime
    rematched: Annotated[
        Rematched | None, optional("What matching the existing documents changed; absent unless this request did it.")
    ] = None
    task: Annotated[
        str | None, optional("The id of the task that matches the existing documents; absent unless there is one.")
    ] = None

    @classmethod
    def of(cls, phrase: Phrase, backfill: Backfill = NO_BACKFILL) -> "PhraseDescription":
        """A phrase as an answer."""
        own, applies = phrase.own, AppliedThreshold.of(phrase)
        filter = FilterDescription.of(phrase.filter)
        fields = {"threshold": own.present_threshold, "as_set": own.threshold, "applies": applies, "filter": filter}
        return converted(phrase, cls, **fields, rematched=backfill.rematched, task=backfill.task)


@dataclass(frozen=True, slots=True)
class PhrasePage:
    """A page of phrases, by name."""

    phrases: tuple[PhraseDescription, ...]
    cursor: Annotated[str | None, described("The cursor of the next page; null at the end.")]


@dataclass(frozen=True, slots=True)
class DeletedPhrase:
    """The phrase that was deleted."""

    name: str
    status: Literal["deleted"] = "deleted"


@dataclass(frozen=True, slots=True)
class ImportedPhrase:
    """The result of one phrase."""

    name: Annotated[str | None, described("Null without a valid name.")]
    status: Literal[Saved, "failed"]
    error: Annotated[ItemError | None, optional("Absent unless it failed.")] = None

    @classmethod
    def of(cls, name: str | None, result: Saved | SpanseekError) -> "ImportedPhrase":
        """The result of a phrase that was saved or refused."""
        return cls(name, "failed", ItemError.of(result)) if isinstance(result, SpanseekError) else cls(name, result)


@dataclass(frozen=True, slots=True)
class ImportedPhrases:
    """The result of every phrase, in request order."""

    results: tuple[ImportedPhrase, ...]
    rematched: Annotated[Rematched | None, described("Null unless existing documents were matched at once.")]
    task: Annotated[
        str | None, optional("The id of the task that matches the existing documents; absent unless there is one.")
    ] = None


@dataclass(frozen=True, slots=True)
class Event:
    """A match that was added or withdrawn."""

    event: EventKind
    match: Annotated[int, described("The match's number in its collection: the same in both of its events.")]
    at: Annotated[datetime, described("The time of the event.")]
    phrase: Annotated[str, described("The phrase's name.")]
    tags: Annotated[tuple[str, ...], described("The phrase's tags; of a withdrawn match those that it had.")]
    document_id: str
    start: Annotated[int, described("In code points.")]
    end: int
    text: Annotated[
        str | None, described("The span's text; null for a withdrawn match, empty where texts are not stored.")
    ]
    score: Annotated[float, described("The score at the time of the match.")]
    raw: float
    calibration: Annotated[str | None, described("The calibration of the score; null: score equals raw.")]
    generation: Annotated[int, described("The first generation that contains the document.")]
    reason: Annotated[Reason | None, described("Why it was withdrawn; null for `matched`.")]
    link: Annotated[str, described("The path of the match with its text and its neighbours, below the API's address.")]
    exact: Annotated[
        Literal[True] | None, optional("The span has the phrase's own words in their order; `match` is a number.")
    ] = None
    probability: Annotated[
        float | None, optional("That the sentence of the match says the phrase; absent where it was not judged.")
    ] = None
    verdict: Annotated[Verdict | None, optional("`match` from a probability of 0.5 on, as in a search.")] = None

    @classmethod
    def of(cls, event: MatchEvent, collection: Collection) -> "Event":
        """An event as an answer. In a collection with words, only an occurrence of the phrase's words has raw 1."""
        span, exact = event.span, True if event.raw == 1 and has_words(collection.recipe) else None
        link = f"/collections/{collection.name}/matches/{event.id}"
        names = {"event": event.kind, "match": event.id, "start": span.start, "end": span.end}
        return converted(event, cls, **names, link=link, exact=exact)


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, in their order."""

    events: tuple[Event, ...]
    cursor: Annotated[str, described("Send it with the next request: each event is read once, and none is skipped.")]
    more: Annotated[bool, described("True if there are more events.")]


@dataclass(frozen=True, slots=True)
class MatchText:
    """A match that stands, with the text around it. Texts are empty where they are not stored."""

    match: Annotated[int, described("The match's number in its collection.")]
    at: Annotated[datetime, described("When it was added.")]
    phrase: Annotated[str, described("The phrase's name.")]
    tags: tuple[str, ...]
    document_id: str
    start: Annotated[int, described("In code points.")]
    end: int
    before: Annotated[str, described("The text before the span, up to `context` code points.")]
    text: str
    after: Annotated[str, described("The text behind the span, up to `context` code points.")]
    score: Annotated[float, described("The score at the time of the match.")]
    raw: float
    calibration: Annotated[str | None, described("The calibration of the score; null: score equals raw.")]
    link: Annotated[str, described("The path of the whole document, below the API's address.")]
    probability: Annotated[
        float | None, optional("That the sentence of the match says the phrase; absent where it was not judged.")
    ] = None
    verdict: Annotated[Verdict | None, optional("`match` from a probability of 0.5 on, as in a search.")] = None
