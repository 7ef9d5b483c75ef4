"""Documents, and phrases, from a request's body: a JSON object, a list of them, or one a line (NDJSON).

Errors are reported per document; valid documents are still imported.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from app.http.problems import BadJson
from app.phrases.parsing import Line, lines_from_json, phrases_from_lines
from indexer.catalog.names import is_document_id
from indexer.documents import MAX_PARTS, document_from_json
from indexer.errors import InvalidDocument
from indexer.ndjson import InvalidLine, parse_json, read_ndjson
from models.errors import InvalidInput, SpanseekError
from models.types import Document

MAX_PHRASES = 20_000


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that cannot be taken as it is, its id as far as it has one, and why."""

    id: str | None
    error: SpanseekError


Upload: TypeAlias = Document | Refused


def uploads(body: bytes, content_type: str) -> list[Upload]:
    """What a body holds, in its order.

    Raises ``BadJson`` for a JSON body that cannot be read, and ``InvalidInput`` for other types and for nothing at all.

    >>> uploads(b'[{"id": "a", "text": "x"}]', "application/json")
    [Document(id='a', parts=(Part(text='x', metadata={}),), metadata={})]
    """
    found: list[Upload] = []
    parts = 0
    for upload in _READERS[_media_type(content_type)](body):
        parts += max(1, len(upload.parts)) if isinstance(upload, Document) else 1
        if parts > MAX_PARTS:
            raise InvalidInput(
                f"The documents of one request may have {MAX_PARTS:,} parts in all.",
                hint="Send them in several requests; a document without parts counts as one.",
                field="body",
            )
        found.append(upload)
    if not found:
        raise InvalidInput("The body holds no document.", hint="Send at least one.", field="body")
    return found


def phrase_uploads(body: bytes, content_type: str) -> list[Line]:
    """The phrases that a body holds, in its order. Raises as :func:`uploads` does.

    >>> [line.name for line in phrase_uploads(b'{"text": "cancel"}', "application/x-ndjson")]
    ['cancel']
    """
    media_type = _media_type(content_type)
    if media_type == "application/json":
        value = _parsed(body, "The body")
        found = list(lines_from_json(value if isinstance(value, list) else [value]))
    else:
        found = list(phrases_from_lines(body))
    if len(found) > MAX_PHRASES:
        raise InvalidInput(
            f"The body holds {len(found):,} phrases; one request may have {MAX_PHRASES:,}.",
            hint="Send them in several requests.",
            field="body",
        )
    if not found:
        raise InvalidInput("The body holds no phrase.", hint="Send at least one.", field="body")
    return found


def _media_type(content_type: str) -> str:
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in _READERS:
        raise InvalidInput(
            f"A body of type {media_type or 'unknown'!r} cannot be read.", hint=_TYPES_HINT, field="Content-Type"
        )
    return media_type


def _from_json(body: bytes) -> Iterable[Upload]:
    value = _parsed(body, "The body")
    return map(_document, value if isinstance(value, list) else [value])


def _from_lines(body: bytes) -> Iterable[Upload]:
    for number, value in read_ndjson(body.split(b"\n")):
        if isinstance(value, InvalidLine):
            yield Refused(None, BadJson(f"Line {number}: {value.reason}.", hint=_TYPES_HINT))
        else:
            yield _document(value)


def _parsed(data: bytes, what: str) -> object:
    value = parse_json(data)
    if isinstance(value, InvalidLine):
        raise BadJson(f"{what} is {value.reason}.", hint=_TYPES_HINT)
    return value


def _document(value: object) -> Upload:
    try:
        return document_from_json(value)
    except InvalidDocument as error:
        id = value.get("id") if isinstance(value, dict) else None
        return Refused(id if isinstance(id, str) and is_document_id(id) else None, error)


_READERS: dict[str, Callable[[bytes], Iterable[Upload]]] = {
    "application/json": _from_json,
    "application/x-ndjson": _from_lines,
}
_TYPES_HINT = "Send application/json (one, or a list) or application/x-ndjson (one a line)."
