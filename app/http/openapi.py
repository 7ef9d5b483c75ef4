"""Additions to FastAPI's OpenAPI document: problems, in their own media type."""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from operator import attrgetter
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from app.http.openapi_schemas import share_objects
from app.http.pools import BodyRoute
from app.http.problems import (
    MEDIA_TYPE,
    BadJson,
    BodyTooLarge,
    Forbidden,
    HeadersTooLarge,
    NotAcceptable,
    RequestTimeout,
    Unauthenticated,
    internal_error,
    problem,
    unsupported,
)
from app.http.request_ids import HEADER
from app.http.schemas import FieldError, Problem
from app.search.errors import DeadlineExceeded, QueueFull
from indexer.errors import CatalogUnavailable, CollectionNotFound, CursorExpired, RecipeMismatch, StorageFull
from models.errors import InvalidInput, SpanseekError

DESCRIPTION = """\
Spanseek finds the phrase, not the page: give an origin phrase, get the spans of text, anywhere in a collection, that
mean the same, with exact offsets and a similarity from 0 to 1.

Errors are problem+json (RFC 9457) with a stable `code` and a `hint`. Where API keys are in use, send one as
`Authorization: Bearer <key>`.
"""

# A router whose operations have the names of their functions, and that parses long bodies in threads.
api_router: Final = partial(APIRouter, generate_unique_id_function=attrgetter("name"), route_class=BodyRoute)

# Bodies and answers of lines and files, for the ``content`` of routes.
LINES: Final[dict[str, Any]] = {
    "application/x-ndjson": {"schema": {"type": "string", "description": "JSON, an object a line."}}
}


def file_of(media_type: str) -> dict[str, Any]:
    """The ``content`` of an answer that is a file of bytes."""
    return {media_type: {"schema": {"type": "string", "format": "binary"}}}


_TAGS = [
    {"name": "search", "description": "Find spans."},
    {"name": "collections", "description": "See what can be searched."},
    {"name": "snapshots", "description": "Keep states of a collection in the data folder, and restore them."},
    {"name": "documents", "description": "Read, add, replace, change and delete documents."},
    {"name": "phrases", "description": "Save phrases, and read what they match in everything that arrives."},
    {"name": "webhooks", "description": "Be told of matches and of ended tasks."},
    {"name": "keys", "description": "See how people sign in."},
    {"name": "admin", "description": "Tune thresholds and what scores mean."},
    {"name": "tasks", "description": "Start, watch and cancel long work."},
    {"name": "health", "description": "Watch the server."},
]


def tags_of(routes: Sequence[BaseRoute]) -> list[dict[str, str]]:
    """The tags of these routes, with their descriptions."""
    used = {tag for route in routes if isinstance(route, APIRoute) for tag in route.tags}
    return [tag for tag in _TAGS if tag["name"] in used]


_REF = "#/components/schemas/{model}"

_REQUEST_ID = {
    "description": "The id of the request: its own header's, if well-formed, else a new one. It is logged.",
    "schema": {"type": "string"},
}

_EXAMPLES: dict[int, SpanseekError] = {
    400: BadJson("The body is not JSON.", hint="Send one JSON object, encoded in UTF-8."),
    401: Unauthenticated("This server asks for an API key.", hint="Send the header `Authorization: Bearer <key>`."),
    403: Forbidden("This API key lacks the scope search.", hint="Create one that has it."),
    404: CollectionNotFound("There is no collection 'sampel'", hint="There is: sample.", field="collection"),
    409: RecipeMismatch(
        "The collection was indexed with another encoder.", hint="Serve with that one.", field="collection"
    ),
    406: NotAcceptable(["application/x-ndjson"]),
    408: RequestTimeout("The request did not arrive completely within 30 s.", hint="Send it faster, or less at once."),
    410: CursorExpired("The cursor is too old.", hint="Read again without a cursor.", field="cursor"),
    413: BodyTooLarge("The body is larger than 8388608 bytes.", hint="Send less at once."),
    415: unsupported("text/plain", "Send a JSON object, with Content-Type: application/json."),
    422: InvalidInput(
        "It holds nothing but white space.",
        hint="`errors` names every field that must be changed.",
        field="text",
    ),
    429: QueueFull("256 requests are waiting already.", hint="Send fewer at once, or retry later."),
    431: HeadersTooLarge("The URL and the headers are larger than 65,536 bytes.", hint="Send fewer headers."),
    500: internal_error(),
    503: CatalogUnavailable("The catalog does not answer.", hint="Check that the database is up."),
    504: DeadlineExceeded("No answer within 10 s.", hint="Retry, or ask for fewer queries at once."),
    507: StorageFull("There is no room to write vectors.i8.", hint="Free some space."),
}


# What the server may answer to any request, and to any with a body, before or after its route has it.
_ANY: Final = (408, 431, 500, 503, 504)
_WITH_BODY: Final = (400, 413, 415, 422)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, as FastAPI's ``responses``, but for those that any route may give."""
    return {status: _documented(status) for status in statuses}


def describe_problems(app: FastAPI) -> None:
    """Complete the application's OpenAPI document: what any route may answer, request ids, and schemas of problems."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        fresh = app.openapi_schema is None
        document = plain()
        if fresh:
            for item in document["paths"].values():
                for operation in item.values():
                    _complete(operation)
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for model in (FieldError, Problem):
                schema = model.model_json_schema(ref_template=_REF)
                schemas[model.__name__] = {key: value for key, value in schema.items() if key != "$defs"}
            share_objects(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def _complete(operation: dict[str, Any]) -> None:
    """Add to an operation the errors that do not depend on its route, and the header of every answer."""
    errors = (*_ANY, *_WITH_BODY) if "requestBody" in operation else _ANY
    if "401" in operation["responses"]:  # a key may have a rate limit
        errors = (*errors, 429)
    responses = {str(status): _documented(status) for status in errors} | operation["responses"]
    operation["responses"] = {status: responses[status] for status in sorted(responses)}
    for response in operation["responses"].values():
        response["headers"] = {HEADER: _REQUEST_ID, **response.get("headers", {})}


def _documented(status: int) -> dict[str, Any]:
    content = {"schema": {"$ref": _REF.format(model="Problem")}, "example": problem(_EXAMPLES[status])}
    return {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: content}}
