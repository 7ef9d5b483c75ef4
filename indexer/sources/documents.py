"""Validated documents from JSON: a value that cannot be stored and returned unchanged is refused with the reason."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import cast

from indexer.catalog.names import MAX_ID_LENGTH, is_document_id
from indexer.errors import InvalidDocument
from models.text.checks import unstorable
from models.types import Document, JsonValue, Metadata, Part

# A document is held in memory whole, its parts as objects of about 3 kB each while they are indexed.
MAX_PARTS = 20_000
MAX_CHARACTERS = 64 * 2**20
# Far less than any JSON library takes, so that whatever was stored can be read again, however deep the call.
MAX_DEPTH = 64
# The memory of a part beside its text, in characters.
_PART_CHARACTERS = 64


def document_from_json(value: object) -> Document:
    """A document from ``{"id", "text", "metadata"}`` or ``{"id", "parts": [{"text", "metadata"}], "metadata"}``.

    >>> document_from_json({"id": "7", "text": "Hello."}).parts
    (Part(text='Hello.', metadata={}),)
    """
    if not isinstance(value, dict):
        raise InvalidDocument("a document must be a JSON object")
    _refuse_unknown(value, {"id", "text", "parts", "metadata"})
    if ("text" in value) == ("parts" in value):
        raise InvalidDocument("a document needs either text or parts")
    parts = [{"text": value["text"]}] if "text" in value else value["parts"]
    if not isinstance(parts, list):
        raise InvalidDocument("parts must be a list")
    if len(parts) > MAX_PARTS:
        raise InvalidDocument(f"the document has {len(parts):,} parts; at most {MAX_PARTS:,} are allowed")
    return checked_size(Document(checked_id(value.get("id")), tuple(map(_part, parts)), _metadata_of(value)))


def checked_size(document: Document) -> Document:
    """The document itself. Raises ``InvalidDocument`` if its texts have more than ``MAX_CHARACTERS`` characters."""
    characters = sum(len(part.text) for part in document.parts)
    if characters > MAX_CHARACTERS:
        raise InvalidDocument(f"the text has {characters:,} characters; at most {MAX_CHARACTERS:,} are allowed")
    return document


def within(parts: Sequence[Part], most: int) -> Sequence[Part]:
    r"""At most some number of parts: where there are more, neighbours become one part of several lines.

    Pieces of one section and one page are joined first.

    >>> [part.text for part in within([Part("a", {"n": 1}), Part("b", {"n": 1}), Part("c", {"n": 2})], 2)]
    ['a\nb', 'c']
    """
    while len(parts) > most:
        joined = _paired(parts, lambda one, other: one.metadata == other.metadata)
        parts = joined if len(joined) < len(parts) else _paired(parts, lambda one, other: True)
    return parts


def _paired(parts: Sequence[Part], belong: Callable[[Part, Part], bool]) -> list[Part]:
    """Every part joined with the next one, if both belong together."""
    joined: list[Part] = []
    is_open = False
    for part in parts:
        if is_open and belong(joined[-1], part):
            joined[-1] = Part(f"{joined[-1].text}\n{part.text}", joined[-1].metadata)
            is_open = False
        else:
            joined.append(part)
            is_open = True
    return joined


def refused_id(value: object) -> str | None:
    """The id of a value that is no document, if it has a valid one.

    >>> refused_id({"id": "7", "text": 8}), refused_id({"id": ""}), refused_id([])
    ('7', None, None)
    """
    id = value.get("id") if isinstance(value, dict) else None
    return id if isinstance(id, str) and is_document_id(id) else None


def weight(document: Document) -> int:
    """About the memory that a document takes, in characters.

    >>> weight(Document("a", (Part("Hello."), Part("Bye."))))
    139
    """
    return len(document.text) + _PART_CHARACTERS * len(document.parts)


def _part(value: object) -> Part:
    if not isinstance(value, dict):
        raise InvalidDocument('a part must be {"text": ..., "metadata": ...}')
    _refuse_unknown(value, {"text", "metadata"})
    return Part(checked_text(value.get("text")), _metadata_of(value))


def _metadata_of(value: dict[str, object]) -> Metadata:
    given = value.get("metadata")
    return {} if given is None else checked_metadata(given)


def _refuse_unknown(value: dict[str, object], allowed: set[str]) -> None:
    unknown = sorted(value.keys() - allowed)
    if unknown:
        raise InvalidDocument(f"unknown field {unknown[0]!r}; fields of your own belong under metadata")


def checked_id(value: object) -> str:
    """A document id: a string of 1 to 512 characters without NUL or lone surrogates; whole numbers are spelt out."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InvalidDocument("a document needs an id: a string that is not empty")
    if len(value) > MAX_ID_LENGTH:
        raise InvalidDocument(f"the id has {len(value)} characters; at most {MAX_ID_LENGTH} are allowed")
    _refuse_unstorable(value, "the id")
    return value


def checked_text(value: object) -> str:
    """A text: any string without lone surrogates. Texts are stored in files, so NUL is allowed."""
    if not isinstance(value, str):
        raise InvalidDocument("text must be a string")
    _refuse_unstorable(value, "the text", nul=True)
    return value


def checked_metadata(value: object) -> Metadata:
    """Metadata: a JSON object, not too deep, without NUL, lone surrogates, NaN or infinities anywhere in it."""
    if not isinstance(value, dict):
        raise InvalidDocument("metadata must be a JSON object")
    _refuse_deep(value, MAX_DEPTH)
    try:
        spelt = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidDocument(f"the metadata is not JSON: {error}") from error
    # In JSON a NUL is always spelt as an escape; a backslash before it would be spelt twice.
    _refuse_unstorable(spelt.replace("\\\\", "").replace("\\u0000", "\0"), "the metadata")
    return cast("dict[str, JsonValue]", value)


def _refuse_deep(value: object, levels: int) -> None:
    if not levels:
        raise InvalidDocument(f"the metadata is nested too deeply: at most {MAX_DEPTH} levels are allowed")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in inner:
        if isinstance(child, dict | list):
            _refuse_deep(child, levels - 1)


def _refuse_unstorable(text: str, what: str, *, nul: bool = False) -> None:
    reason = unstorable(text, nul=nul)
    if reason is not None:
        raise InvalidDocument(f"{what} holds {reason}")


def content_hash(document: Document) -> str:
    """Identifies what a document says: an equal document need not be indexed again.

    >>> one = Document("a", (Part("x"),))
    >>> content_hash(one) == content_hash(Document("b", (Part("x"),)))
    True
    """
    parts = [[part.text, part.metadata] for part in document.parts]
    body = json.dumps([parts, document.metadata], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(body.encode(), digest_size=16).hexdigest()
