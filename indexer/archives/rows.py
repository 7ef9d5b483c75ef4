"""The rows of a snapshot's catalog, one model for each table: types, ranges and names, as SQLite stores them.

How rows refer to each other, to the recipe and to segments is what ``checking`` checks.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, Json, StringConstraints, model_validator

from indexer.catalog.names import (
    checked_note,
    checked_phrase_text,
    checked_tags,
    is_collection_name,
    is_document_id,
    is_phrase_name,
)
from indexer.errors import InvalidDocument
from indexer.filters.strings import parsed
from indexer.representations.details import RecipeFields
from indexer.representations.stored import Name, Stored
from indexer.sources.documents import checked_metadata
from models.errors import InvalidInput
from models.ops.calibrate import check_knots
from models.text.checks import unstorable
from models.types import SpanBounds
from models.verifier.types import Verdict

_Value = TypeVar("_Value")
_TIME: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?"


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _told(check: Callable[[_Value], object]) -> Callable[[_Value], _Value]:
    """A check as pydantic takes it: what Spanseek refuses in a request is a wrong value here."""

    def checked(value: _Value) -> _Value:
        try:
            result = check(value)
        except (InvalidInput, InvalidDocument) as error:
            raise ValueError(str(error)) from error
        if result is False:
            raise ValueError(f"{str(value)[:80]!r} is not valid")
        return value

    return checked


def _storable(text: str) -> str:
    if reason := unstorable(text):
        raise ValueError(f"it holds {reason}")
    return text


def _checked_expression(text: str) -> None:
    if text:
        parsed(text)


def _knots(knots: list[list[float]]) -> list[list[float]]:
    if any(len(knot) != 2 for knot in knots):
        raise ValueError("a knot has two numbers")
    check_knots(np.array(knots, np.float64).reshape(-1, 2))
    return knots


Count = Annotated[int, Field(ge=0, lt=2**62)]
Flag = Annotated[bool, BeforeValidator(lambda value: {0: False, 1: True}.get(value, value))]
Share = Annotated[float, Field(ge=0, le=1)]
Raw = Annotated[float, Field(ge=-1, le=2)]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}\z")]
SegmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\z")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}\z")]
Mode = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}\z")]
Moment = Annotated[str, StringConstraints(pattern=rf"^{_TIME}\z"), AfterValidator(_moment)]
Text = Annotated[str, AfterValidator(_storable)]
Note = Annotated[str, AfterValidator(_told(checked_note))]
DocumentId = Annotated[str, AfterValidator(_told(is_document_id))]
PhraseName = Annotated[str, AfterValidator(_told(is_phrase_name))]
Filter = Annotated[Json[dict[str, Any]], AfterValidator(_told(checked_metadata))]
Tags = Annotated[Json[list[str]], AfterValidator(_told(checked_tags))]
Scale = Literal["score", "raw"]


class CollectionRow(RecipeFields):
    """The collection itself, with its recipe."""

    id: Id
    name: Annotated[str, AfterValidator(_told(is_collection_name))]
    generation: Count
    created_at: Moment


class SegmentRow(Stored):
    """A live segment."""

    name: SegmentName
    collection_id: Id
    manifest_sha256: Sha256
    documents: Count
    parts: Count
    units: Count
    bytes: Count
    added_in: Count
    retired_in: None
    retired_at: None
    created_at: Moment


class DocumentRow(Stored):
    """A live document."""

    collection_id: Id
    document_id: DocumentId
    segment: SegmentName
    ordinal: Count
    content_hash: Name


class TombstoneRow(Stored):
    """A document of a segment that is no longer live."""

    segment: SegmentName
    ordinal: Count
    generation: Count


class CalibrationRow(Stored):
    """A map from raw to score."""

    id: Id
    collection_id: Id
    mode: Mode
    fingerprint: Name
    shortest: int
    longest: int
    knots: Annotated[Json[list[list[float]]], AfterValidator(_knots)]
    method: Text
    labels: Count
    note: Note
    figures: Annotated[Json[dict[str, Any]], AfterValidator(_told(checked_metadata))]
    created_at: Moment

    @model_validator(mode="after")
    def _has_bounds(self) -> "CalibrationRow":
        SpanBounds(self.shortest, self.longest)
        return self


class ActiveRow(Stored):
    """The active calibration of a mode."""

    collection_id: Id
    mode: Mode
    calibration_id: Id
    activated_at: Moment


class _Change(Stored):
    collection_id: Id
    number: Annotated[Count, Field(ge=1)]
    value: Share | None
    scale: Scale
    raw: Raw | None
    calibration_id: Id | None
    goes_back_to: Count | None
    undo: Flag
    note: Note
    set_at: Moment

    @model_validator(mode="after")
    def _is_whole(self) -> "_Change":
        if (self.value is None) != (self.raw is None):
            raise ValueError("value and raw belong together")
        if self.goes_back_to is not None and self.goes_back_to >= self.number:
            raise ValueError("goes_back_to names no earlier change")
        return self


class ThresholdRow(_Change):
    """A change of the threshold of a mode."""

    mode: Mode


class PhraseThresholdRow(_Change):
    """A change of the threshold of a phrase."""

    phrase: PhraseName


class PhraseSetRow(Stored):
    """The numbers of changes of phrases and of events."""

    collection_id: Id
    version: Count
    events: Count
    forgotten: Count


class PhraseRow(Stored):
    """A saved phrase."""

    collection_id: Id
    name: PhraseName
    text: Annotated[str, AfterValidator(_told(checked_phrase_text))]
    document_filter: Filter
    part_filter: Filter
    filter_expression: Annotated[str, AfterValidator(_told(_checked_expression))]
    note: Note
    tags: Tags
    paused: Flag
    likely_only: Flag
    vector: bytes
    changed_in: Count
    created_at: Moment
    changed_at: Moment


class MatchRow(Stored):
    """A match of a phrase; one that is withdrawn has no text."""

    collection_id: Id
    number: Annotated[Count, Field(ge=1)]
    phrase: PhraseName
    tags: Tags
    document_id: DocumentId
    start: Count
    end: Count
    text: Json[str] | None
    score: Share
    raw: Raw
    calibration_id: Id | None
    generation: Count
    found_at: Moment
    withdrawn: Count | None
    withdrawn_at: Moment | None
    reason: Literal["document_changed", "document_deleted", "phrase_changed", "phrase_deleted", "rematched"] | None
    probability: Share | None
    verdict: Verdict | None

    @model_validator(mode="after")
    def _is_whole(self) -> "MatchRow":
        if self.start > self.end:
            raise ValueError("it ends before it begins")
        withdrawn = {value is not None for value in (self.withdrawn, self.withdrawn_at, self.reason)}
        if len(withdrawn) > 1 or (self.text is None) not in withdrawn:
            raise ValueError("it is neither withdrawn nor not")
        return self
