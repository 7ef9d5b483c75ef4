"""Documents, and phrases, from a request's body: a JSON object, a list of them, or one per line (NDJSON).

Errors are reported per document; valid documents are still imported.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.http.problems import BadJson, media_type_of, unsupported
from app.phrases.parsing import Line, lines_from_json, phrases_from_lines
from app.requests import shared_filters
from indexer.engine.filter_masks import documents_holding
from indexer.engine.query import Filter
from indexer.errors import InvalidDocument, KeyConfined
from indexer.filters.expression import Expression, asks_ids_alone
from indexer.ndjson import InvalidLine, parse_json, read_ndjson
from indexer.sources.documents import MAX_PARTS, document_from_json, refused_id
from models.errors import InvalidInput, SpanseekError
from models.types import Document

MAX_PHRASES = 20_000
# Characters of the filters of all phrases of a request.
MAX_FILTERS = 2**21


@dataclass(frozen=True, slots=True)
class Refused:
    """An invalid document: its id, if it has one, and the error."""

    id: str | None
    error: SpanseekError


Entry: TypeAlias = Document | Refused


def uploads(body: bytes, content_type: str) -> list[Entry]:
    """The documents of a body, in order.

    Raises ``BadJson`` for invalid JSON, ``UnsupportedMediaType``, and ``InvalidInput`` for an empty body.

    >>> uploads(b'[{"id": "a", "text": "x"}]', "application/json")
    [Document(id='a', parts=(Part(text='x', metadata={}),), metadata={})]
    """
    documents: list[Entry] = []
    parts = 0
    for upload in _READERS[_media_type(content_type)](body):
        parts += max(1, len(upload.parts)) if isinstance(upload, Document) else 1
        if parts > MAX_PARTS:
            raise InvalidInput(
                f"The documents of one request may have {MAX_PARTS:,} parts in all.",
                hint="Send them in several requests; a document without parts counts as one.",
                field="body",
            )
        documents.append(upload)
    if not documents:
        raise InvalidInput("The body holds no document.", hint="Send at least one.", field="body")
    return documents


def require_own_ids(reach: Filter) -> Filter:
    """The filter of a key that may add documents: it asks ids alone. Raises ``KeyConfined`` for another.

    An id that such a filter lets pass is no document's out of reach. Of any other, the answer would tell that it is
    taken, or overwrite the document.
    """
    if reach.always is not None and not asks_ids_alone(reach.always):
        raise KeyConfined(
            "The filter of this API key asks metadata, so an id may be that of a document out of its reach.",
            hint='Add documents with a key whose filter asks ids alone, such as `document.id starts with "acme/"`.',
        )
    return reach


def with_own_ids(items: Sequence[Entry], always: Expression | None) -> Sequence[Entry]:
    """The documents whose ids a key's filter, if it has one, lets pass; the others as refused."""
    if always is None:
        return items
    documents = [item for item in items if isinstance(item, Document)]
    own = dict(zip(map(id, documents), _passing(documents, always), strict=True))
    return [item if own.get(id(item), True) else _out_of_reach(item) for item in items]


def _passing(documents: Sequence[Document], always: Expression) -> list[bool]:
    ids = [document.id for document in documents]
    passing: list[bool] = documents_holding(always, ids, [{}] * len(ids)).tolist()
    return passing


def _out_of_reach(item: Entry) -> Refused:
    error = KeyConfined("The filter of this API key does not let this id pass.", hint="Choose another id.", field="id")
    return Refused(item.id, error)


def phrase_uploads(body: bytes, content_type: str) -> list[Line]:
    """The phrases of a body, in order. Raises the errors of :func:`uploads`.

    >>> [line.name for line in phrase_uploads(b'{"text": "cancel"}', "application/x-ndjson")]
    ['cancel']
    """
    media_type = _media_type(content_type)
    with shared_filters(MAX_FILTERS):
        if media_type == "application/json":
            value = _parsed(body, "The body")
            phrases = list(lines_from_json(value if isinstance(value, list) else [value]))
        else:
            phrases = list(phrases_from_lines(body))
    if len(phrases) > MAX_PHRASES:
        raise InvalidInput(
            f"The body holds {len(phrases):,} phrases; one request may have {MAX_PHRASES:,}.",
            hint="Send them in several requests.",
            field="body",
        )
    if not phrases:
        raise InvalidInput("The body holds no phrase.", hint="Send at least one.", field="body")
    return phrases


def _media_type(content_type: str) -> str:
    media_type = media_type_of(content_type)
    if media_type not in _READERS:
        raise unsupported(media_type, _TYPES_HINT)
    return media_type


def _from_json(body: bytes) -> Iterable[Entry]:
    value = _parsed(body, "The body")
    return map(_document, value if isinstance(value, list) else [value])


def _from_lines(body: bytes) -> Iterable[Entry]:
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


def _document(value: object) -> Entry:
    try:
        return document_from_json(value)
    except InvalidDocument as error:
        return Refused(refused_id(value), error)


_READERS: dict[str, Callable[[bytes], Iterable[Entry]]] = {
    "application/json": _from_json,
    "application/x-ndjson": _from_lines,
}
_TYPES_HINT = "Send application/json (one, or a list) or application/x-ndjson (one a line)."
