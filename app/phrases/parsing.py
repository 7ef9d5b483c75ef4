"""Phrases from JSON and NDJSON. Errors are reported per phrase; valid phrases are still imported."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from indexer.catalog.names import checked_note, checked_phrase_name, checked_phrase_text
from indexer.engine.query import Filter
from indexer.ndjson import InvalidLine, read_ndjson
from indexer.phrases import PhraseDraft
from indexer.tuning import ThresholdOn, check_threshold
from models.errors import InvalidInput, SpanseekError
from models.types import JsonValue

_FIELDS = {"name", "text", "threshold", "threshold_on", "filter", "note"}


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
        if isinstance(value, InvalidLine):
            yield RefusedLine(None, InvalidInput(f"Line {number}: {value.reason}.", field="line"))
        else:
            yield line_from_json(value)


def lines_from_json(values: Iterable[object]) -> Iterator[Line]:
    """A phrase for every value of a list."""
    return map(line_from_json, values)


def line_from_json(value: object) -> Line:
    """A phrase, or the reason why it is invalid."""
    try:
        return phrase_from_json(value)
    except InvalidInput as error:
        name = value.get("name", value.get("text")) if isinstance(value, dict) else None
        return RefusedLine(name if isinstance(name, str) else None, error)


def phrase_from_json(value: object) -> PhraseDraft:
    """A phrase from ``{"name", "text", "threshold", "threshold_on", "filter", "note"}``; only the text is required.

    The name defaults to the text. Raises ``InvalidInput``.
    """
    if not isinstance(value, dict):
        raise InvalidInput("A phrase must be a JSON object.", field="phrase")
    unknown = sorted(value.keys() - _FIELDS)
    if unknown:
        raise InvalidInput(f"A phrase has no field {unknown[0]!r}.", field=unknown[0])
    text = checked_phrase_text(_string(value, "text"))
    return PhraseDraft(
        name=checked_phrase_name(_string(value, "name", text)),
        text=text,
        threshold=_threshold(value.get("threshold")),
        threshold_on=_scale(value.get("threshold_on", "score")),
        filter=_filter(value.get("filter")),
        note=checked_note(_string(value, "note", "")),
    )


def _string(value: Mapping[str, object], name: str, default: str | None = None) -> str:
    string = value.get(name)
    if string is None and default is not None:
        return default
    if not isinstance(string, str):
        raise InvalidInput(f"{name} must be a string.", field=name)
    return string


def _threshold(value: object) -> float | None:
    check_threshold(value)
    return None if value is None else float(cast("float", value))


def _scale(value: object) -> ThresholdOn:
    if value == "score" or value == "raw":
        return "raw" if value == "raw" else "score"
    raise InvalidInput("threshold_on must be score or raw.", field="threshold_on")


def _filter(value: object) -> Filter:
    given = {} if value is None else value
    if not isinstance(given, dict) or given.keys() - {"document", "part"}:
        raise InvalidInput("filter must be an object with document, part, or both.", field="filter")
    return Filter(*(_conditions(given.get(name, {}), f"filter.{name}") for name in ("document", "part")))


def _conditions(value: object, field: str) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{field} must be an object.", field=field)
    for name, item in value.items():
        if not (item is None or isinstance(item, bool | int | float | str)) or item != item:
            raise InvalidInput(f"{field}: {name!r} must be a string, a number, true, false or null.", field=field)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInput(f"{field} cannot be stored: {error}", field=field) from error
    return value
