"""Validation errors of a request's fields, in the words of the API."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

# How pydantic calls what is no object.
_NO_OBJECT: Final = frozenset({"model_type", "model_attributes_type", "dataclass_type", "dict_type"})
_NO_FIELD: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_NO_SUCH_FIELD: Final = "There is no such field; /docs names those there are."
_FILTER_KEYS: Final = (
    "There is no such field: metadata of documents stands under `document`, metadata of parts under `part`."
)
_FILTER: Final = 'It must be a JSON object, such as {"expression": "year >= 2024"}.'
# Messages that would name types of Python.
_PLAIN: Final = {
    "tuple_type": "It must be a list.",
    "too_short": "It needs at least {min_length:,} {things}.",
    "too_long": "It may have at most {max_length:,} {things}.",
    "union_tag_invalid": "It must be one of {expected_tags}.",
}


def field_errors(errors: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The name of every field that is at fault, and why, of what pydantic says.

    >>> list(field_errors([{"loc": ("phrases",), "type": "too_short", "msg": "Tuple ...", "ctx": {"min_length": 1}}]))
    [('phrases', 'It needs at least 1 item(s).')]
    """
    places = [_place(error) for error in errors]
    for error, place in zip(errors, places, strict=True):
        # A list whose items are wrong counts as too short, too.
        is_consequence = any(other[: len(place)] == place != other for other in places)
        if error["type"] != "too_short" or not is_consequence:
            yield _path(place) or "body", _message(error)


def _place(error: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The path of the field at fault; of an object of unknown kind, that of the field that names the kind."""
    discriminator = (error.get("ctx") or {}).get("discriminator")
    return (*error["loc"], *([] if discriminator is None else [discriminator.strip("'")]))


def _message(error: Mapping[str, Any]) -> str:
    kind, place = error["type"], error["loc"]
    if not _path(place) and kind in _NO_OBJECT | {"missing"}:  # also a body that is absent, or sent as something else
        return "It must be a JSON object, sent with Content-Type: application/json."
    if kind in _NO_OBJECT:
        return _FILTER if place[-1] == "filter" else "It must be a JSON object."
    if kind in _NO_FIELD:
        return _FILTER_KEYS if "filter" in place[:-1] else _NO_SUCH_FIELD
    if kind in _PLAIN:
        return _PLAIN[kind].format(**error.get("ctx") or {}, things=_things(error.get("input")))
    return str(error["msg"]).removeprefix("Value error, ")


def _things(value: object) -> str:
    """The unit that the length of a value is counted in."""
    return "character(s)" if isinstance(value, str) else "key(s)" if isinstance(value, dict) else "item(s)"


def _path(loc: Sequence[str | int]) -> str:
    """A field's name as a reader would write it.

    >>> _path(("queries", 3, "filter", "document", "kind"))
    'queries[3].filter.document.kind'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc if step != "[key]")
    return "".join(steps).removeprefix(".")
