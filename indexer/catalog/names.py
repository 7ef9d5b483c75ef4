"""What may be called what."""

import re
from collections.abc import Iterable, Iterator

from models.errors import InvalidInput

_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
# NUL and lone surrogates cannot be stored as UTF-8 text by every database.
_STORABLE = re.compile("[^\0\ud800-\udfff]{1,512}")


def is_collection_name(name: str) -> bool:
    """Whether a collection may have this name.

    >>> is_collection_name("calls-2024"), is_collection_name("../calls")
    (True, False)
    """
    return _COLLECTION.fullmatch(name) is not None


def checked_collection_name(name: str) -> str:
    """The name itself, when a collection may have it.

    >>> checked_collection_name("calls-2024")
    'calls-2024'
    >>> checked_collection_name("../calls")
    Traceback (most recent call last):
    models.errors.InvalidInput: '../calls' cannot be the name of a collection
    """
    if not is_collection_name(name):
        raise InvalidInput(
            f"{name!r} cannot be the name of a collection",
            hint="Use 1 to 63 of a-z, 0-9, '_' and '-', and begin with a letter or a digit.",
            field="collection",
        )
    return name


def is_document_id(document_id: str) -> bool:
    """Whether a document may have this id: 1 to 512 characters that every database can store.

    >>> is_document_id("call 17/b"), is_document_id(""), is_document_id("x" * 513)
    (True, False, False)
    """
    return _STORABLE.fullmatch(document_id) is not None


def possible_ids(candidates: Iterable[str]) -> Iterator[str]:
    """Those that can be ids at all; no database needs to be asked about the others."""
    return filter(is_document_id, candidates)


def checked_note(note: str) -> str:
    """The note itself, when it can be kept: up to 512 characters, or none.

    >>> checked_note("after the audit")
    'after the audit'
    """
    if note and _STORABLE.fullmatch(note) is None:
        raise InvalidInput("The note cannot be kept.", hint="A note has up to 512 characters and no NUL.", field="note")
    return note


def checked_key_name(name: str) -> str:
    """The name itself, when a key may have it.

    >>> checked_key_name("Ann's laptop")
    "Ann's laptop"
    """
    if _STORABLE.fullmatch(name) is None:
        raise InvalidInput(
            f"A key cannot have the name {name[:80]!r}",
            hint="A name has 1 to 512 characters and no NUL.",
            field="name",
        )
    return name
