"""Places in a list that callers hand back to go on from there: opaque, and good for one list of one collection."""

import base64
import binascii
import json
from typing import Literal, TypeVar, cast

from models.errors import InvalidInput

ListName = Literal["events", "phrases"]
Position = TypeVar("Position", bound=tuple[int | str, ...])
# What a database takes for a number.
_MOST = 2**63 - 1


def cursor_at(of: ListName, collection_id: str, *position: int | str) -> str:
    """The cursor that stands behind a position.

    >>> position_of(cursor_at("events", "c1", 7, 2), "events", "c1", (0, 0))
    (7, 2)
    """
    spelt = json.dumps([of, collection_id, *position], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(spelt.encode()).decode().rstrip("=")


def position_of(cursor: str | None, of: ListName, collection_id: str, beginning: Position) -> Position:
    """The position that a cursor stands behind; ``beginning`` without one.

    Raises ``InvalidInput`` for what is no cursor of this list.
    """
    if cursor is None:
        return beginning
    try:
        found = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        found = None
    if not isinstance(found, list) or found[:2] != [of, collection_id] or not _is_like(found[2:], beginning):
        raise InvalidInput(
            "The cursor is none of this list.",
            hint="Give back the cursor of an answer as it was, or none to begin at the beginning.",
            field="cursor",
        )
    return cast("Position", tuple(found[2:]))


def _is_like(found: list[object], beginning: tuple[int | str, ...]) -> bool:
    """Whether a position has the form of another one, and can be asked for."""
    numbers = [value for value in found if isinstance(value, int)]
    return list(map(type, found)) == list(map(type, beginning)) and all(0 <= value <= _MOST for value in numbers)
