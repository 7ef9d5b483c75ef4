"""What may be called what."""

import re
from collections.abc import Iterable, Iterator

from models.errors import InvalidInput

_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
# NUL and lone surrogates cannot be stored as UTF-8 text by every database.
_STORABLE = re.compile("[^\0\ud800-\udfff]{1,512}")

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
MAX_PHRASE_NAME = 200
MAX_PHRASE_TEXT = 10_000


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


def is_phrase_name(name: str) -> bool:
    """Whether a phrase may have this name: it can stand in a path as one step, and every database can store it.

    >>> is_phrase_name("cancel my subscription"), is_phrase_name("a/b"), is_phrase_name("..")
    (True, False, False)
    """
    return len(name) <= MAX_PHRASE_NAME and _STORABLE.fullmatch(name) is not None and _is_one_step(name)


def checked_phrase_name(name: str) -> str:
    """The name itself, when a phrase may have it.

    >>> checked_phrase_name("cancel")
    'cancel'
    """
    if not is_phrase_name(name):
        raise InvalidInput(
            f"A phrase cannot have the name {name[:80]!r}.",
            hint=f"Give it a name of 1 to {MAX_PHRASE_NAME} characters without '/' and NUL, and not only dots.",
            field="name",
        )
    return name


def checked_phrase_text(text: str) -> str:
    """The text itself, when it can be a phrase's: 1 to 10,000 characters that every database can store.

    >>> checked_phrase_text("cancel my subscription")
    'cancel my subscription'
    """
    if not text.strip() or len(text) > MAX_PHRASE_TEXT or _UNSTORABLE.search(text):
        raise InvalidInput(
            f"A phrase cannot have the text {text[:80]!r}.",
            hint=f"A text has words in it, up to {MAX_PHRASE_TEXT:,} characters, and no NUL.",
            field="text",
        )
    return text


def _is_one_step(name: str) -> bool:
    return "/" not in name and name not in (".", "..")


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
