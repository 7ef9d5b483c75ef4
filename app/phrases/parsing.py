"""Phrases from JSON and NDJSON. Errors are reported per phrase; valid phrases are still imported."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, ValidationError, ValidationInfo

from app.requests import MAX_CONDITIONS, ExpressionField
from indexer.catalog.names import checked_note, checked_phrase_name, checked_phrase_text, checked_tags
from indexer.engine.query import Filter
from indexer.ndjson import InvalidLine, read_ndjson
from indexer.phrases import PhraseDraft
from indexer.tuning import Auto, ThresholdOn, check_threshold
from models.errors import InvalidInput, SpanseekError
from models.fields import converted
from models.text.checks import unstorable
from models.types import JsonValue


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """An invalid phrase: its name, if it has one, and the error."""

    name: str | None
    error: SpanseekError


Line: TypeAlias = PhraseDraft | RefusedLine


def phrases_from_lines(data: bytes) -> Iterator[Line]:
    """A phrase, or an error, for every non-blank line.

    >>> list(phrases_from_lines(b'{"text": "cancel my plan"}'))[0].name
    'cancel my plan'
    """
    for number, value in read_ndjson(data.split(b"\n")):
        line = line_from_json(value)
        if isinstance(line, RefusedLine):
            line.error.args = (f"Line {number}: {line.error}",)
        yield line


def lines_from_json(values: Iterable[object]) -> Iterator[Line]:
    """A phrase for every value of a list."""
    return map(line_from_json, values)


def line_from_json(value: object) -> Line:
    """A phrase, or the reason why it is invalid."""
    try:
        return phrase_from_json(value)
    except InvalidInput as error:
        name = value.get("name", value.get("text")) if isinstance(value, dict) else None
        return RefusedLine(name if isinstance(name, str) and not unstorable(name) else None, error)


def phrase_from_json(value: object) -> PhraseDraft:
    """A phrase from an object that has the fields of a ``PhraseDraft``, of which only the text is required.

    The name defaults to the text. Raises ``InvalidInput``.
    """
    if isinstance(value, InvalidLine):
        raise InvalidInput(f"{value.reason}.", field="line")
    if not isinstance(value, dict):
        raise InvalidInput("A phrase must be a JSON object.", field="phrase")
    try:
        phrase = _Phrase.model_validate(value)
    except ValidationError as error:
        raise _refused(error) from error
    name = checked_phrase_name(phrase.text if phrase.name is None else phrase.name)
    filter = Filter() if phrase.filter is None else phrase.filter.filter()
    return converted(phrase, PhraseDraft, name=name, filter=filter, note=phrase.note or "")


def _threshold(value: object) -> float | Auto | None:
    if value == "auto":
        return "auto"
    try:
        check_threshold(value)
    except InvalidInput as error:
        raise InvalidInput(str(error), hint="Choose a number from 0 to 1, or auto.", field=error.field) from error
    return None if value is None else float(cast("float", value))


def _tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidInput("tags must be a list of strings.", field="tags")
    return checked_tags(value)


def _conditions(value: dict[str, JsonValue], info: ValidationInfo) -> dict[str, JsonValue]:
    field = f"filter.{info.field_name}"
    if len(value) > MAX_CONDITIONS:
        raise InvalidInput(f"{field} may have at most {MAX_CONDITIONS:,} keys.", field=field)
    for name, item in value.items():
        if not (item is None or isinstance(item, bool | int | float | str)) or item != item:
            raise InvalidInput(f"{field}: {name!r} must be a string, a number, true, false or null.", field=field)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInput(f"{field} cannot be stored: {error}", field=field) from error
    return value


_Conditions: TypeAlias = Annotated[dict[str, Any], AfterValidator(_conditions)]


class _Filter(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    document: _Conditions = {}
    part: _Conditions = {}
    expression: ExpressionField = None

    def filter(self) -> Filter:
        return Filter(self.document, self.part, self.expression)


class _Phrase(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    text: Annotated[str, AfterValidator(checked_phrase_text)]
    name: str | None = None
    threshold: Annotated[float | Auto | None, PlainValidator(_threshold)] = None
    threshold_on: ThresholdOn = "score"
    filter: _Filter | None = None
    note: Annotated[str, AfterValidator(checked_note)] | None = None
    tags: Annotated[tuple[str, ...], PlainValidator(_tags)] = ()
    paused: bool = False
    likely_only: bool = False


# What a field must be that is no string.
_WANTED: Final = {"threshold_on": "score or raw", "paused": "true or false", "likely_only": "true or false"}


def _refused(error: ValidationError) -> InvalidInput:
    """The error for a phrase that pydantic rejects."""
    first = error.errors()[0]
    path = tuple(map(str, first["loc"]))
    if not path:
        return InvalidInput("A phrase has a field whose name no encoding can carry.", field="phrase")
    if first["type"] == "extra_forbidden" and len(path) == 1:
        return InvalidInput(f"A phrase has no field {path[0]!r}.", field=path[0])
    if path[0] != "filter":
        wanted = _WANTED.get(path[0], "a string")
        return InvalidInput(f"{path[0]} must be {wanted}.", field=path[0])
    if len(path) == 1 or first["type"] == "extra_forbidden":
        return InvalidInput("filter must be an object with document, part, or both.", field="filter")
    field = ".".join(path[:2])
    return InvalidInput(f"{field} must be an object.", field=field)
