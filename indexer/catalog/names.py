"""Names, ids, notes and texts that the catalog can store."""

import re
from collections.abc import Iterable, Iterator

from models.errors import InvalidInput
from models.text.checks import unstorable

_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MAX_ID_LENGTH = 512
MAX_NOTE = 512
MAX_KEY_NAME = 512
MAX_PHRASE_NAME = 200
MAX_PHRASE_TEXT = 10_000
MAX_TAG = 64
MAX_TAGS = 32


def is_collection_name(name: str) -> bool:
    """True for a valid name of a collection.

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
    """True for a valid document id: 1 to 512 characters that every database can store.

    >>> is_document_id("call 17/b"), is_document_id(""), is_document_id("x" * 513)
    (True, False, False)
    """
    return _is_storable(document_id, MAX_ID_LENGTH)


def possible_ids(candidates: Iterable[str]) -> Iterator[str]:
    """The candidates that can be ids. The others must not be sent to a database."""
    return filter(is_document_id, candidates)


def checked_note(note: str) -> str:
    """The note itself, when it can be stored: up to 512 characters, or none.

    >>> checked_note("after the audit")
    'after the audit'
    """
    if note and not _is_storable(note, MAX_NOTE):
        raise InvalidInput(
            "The note cannot be stored.", hint=f"A note has up to {MAX_NOTE} characters and no NUL.", field="note"
        )
    return note


def is_phrase_name(name: str) -> bool:
    """True for a valid name of a phrase: one segment of a path, which every database can store.

    >>> is_phrase_name("cancel my subscription"), is_phrase_name("a/b"), is_phrase_name("..")
    (True, False, False)
    """
    return _is_storable(name, MAX_PHRASE_NAME) and "/" not in name and name not in (".", "..")


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
    if not text.strip() or not _is_storable(text, MAX_PHRASE_TEXT):
        raise InvalidInput(
            f"A phrase cannot have the text {text[:80]!r}.",
            hint=f"A text has words in it, up to {MAX_PHRASE_TEXT:,} characters, and no NUL.",
            field="text",
        )
    return text


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags in their order, each once, when a phrase may have them.

    >>> checked_tags(["legal", "churn", "legal"])
    ('churn', 'legal')
    """
    distinct = tuple(sorted(set(tags)))
    if len(distinct) > MAX_TAGS:
        raise InvalidInput(f"{len(distinct)} tags are too many.", hint=f"Up to {MAX_TAGS} are stored.", field="tags")
    for tag in distinct:
        if not _is_storable(tag, MAX_TAG) or tag != tag.strip():
            raise InvalidInput(
                f"A tag cannot be {tag[:80]!r}.",
                hint=f"A tag has 1 to {MAX_TAG} characters, no NUL, and no blanks around it.",
                field="tags",
            )
    return distinct


def checked_key_name(name: str) -> str:
    """The name itself, when a key may have it.

    >>> checked_key_name("Ann's laptop")
    "Ann's laptop"
    """
    if not _is_storable(name, MAX_KEY_NAME):
        raise InvalidInput(
            f"A key cannot have the name {name[:80]!r}",
            hint=f"A name has 1 to {MAX_KEY_NAME} characters and no NUL.",
            field="name",
        )
    return name


def _is_storable(text: str, longest: int) -> bool:
    return 1 <= len(text) <= longest and unstorable(text) is None
