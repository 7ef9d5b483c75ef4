"""Cursors: positions in a list of one collection. Callers return them unchanged to read on.

They carry no secret and are not signed: a forged cursor gives no more access than a filter by position would. Every
field is checked.
"""

import base64
import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal, TypeVar, cast

from indexer.catalog.names import is_document_id
from models.errors import InvalidInput

ListName = Literal["documents", "events", "export", "hits", "phrases", "tasks"]
# The items of a page, unless its list says otherwise.
MAX_LISTED = 1000
Position = TypeVar("Position", bound=tuple[int | str, ...])
# The largest integer that databases store.
_MAX_INTEGER = 2**63 - 1


def cursor_at(of: ListName, collection_id: str, *position: int | str) -> str:
    """The cursor after a position.

    >>> position_of(cursor_at("events", "c1", 7, 2), "events", "c1", (0, 0))
    (7, 2)
    """
    encoded = json.dumps([of, collection_id, *position], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(encoded.encode()).decode().rstrip("=")


def position_of(cursor: str | None, of: ListName, collection_id: str, beginning: Position) -> Position:
    """The position of a cursor; ``beginning`` without one.

    Raises ``InvalidInput`` for a value that is not a cursor of this list.
    """
    if cursor is None:
        return beginning
    position = _parsed(cursor, of, collection_id)
    if position is None or not _is_like(position, beginning):
        raise InvalidInput(
            "The cursor does not belong to this list.",
            hint="Send the cursor of an answer unchanged; none to start anew, as in a collection that was made anew.",
            field="cursor",
        )
    return cast("Position", tuple(position))


def check_limit(limit: int, most: int = MAX_LISTED) -> None:
    """Raise ``InvalidInput`` unless a page may have so many items."""
    if not 1 <= limit <= most:
        raise InvalidInput(f"A limit cannot be {limit}.", hint=f"Choose from 1 to {most}.", field="limit")


def digest_of(text: str) -> str:
    """A digest that binds a cursor to what made its list.

    >>> len(digest_of("cancel my plan"))
    24
    """
    return blake2b(text.encode(), digest_size=12).hexdigest()


def _parsed(cursor: str, of: ListName, collection_id: str) -> list[object] | None:
    """The position in a cursor, unchecked; None if :func:`cursor_at` would encode it differently."""
    try:
        match json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))):
            case [str(list_name), str(id), *position] if [list_name, id] == [of, collection_id]:
                return position if cursor_at(of, collection_id, *position) == cursor else None
    except (TypeError, ValueError, RecursionError):
        pass
    return None


def _is_like(position: Sequence[object], beginning: tuple[int | str, ...]) -> bool:
    """True if a position has the types of ``beginning`` and a database can store it."""
    return list(map(type, position)) == list(map(type, beginning)) and all(map(_is_storable, position))


def _is_storable(value: object) -> bool:
    return 0 <= value <= _MAX_INTEGER if isinstance(value, int) else is_document_id(str(value))
