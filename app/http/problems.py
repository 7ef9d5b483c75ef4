"""Errors as RFC 9457 problem+json: the classes that only HTTP has, and the table of statuses."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.http.field_errors import field_errors
from app.search import errors as search
from indexer import errors as indexer
from models import errors as models
from models.errors import SpanseekError
from models.text.checks import printable

MEDIA_TYPE = "application/problem+json"


class BadJson(SpanseekError):
    """The body is not JSON."""

    code = "bad_json"


class Unauthenticated(SpanseekError):
    """The request has no API key, or one that is not valid."""

    code = "unauthenticated"


class IssuerUnavailable(SpanseekError):
    """The issuer of tokens does not give its keys now; API keys are not affected."""

    code = "issuer_unavailable"


class Forbidden(SpanseekError):
    """The API key does not allow this."""

    code = "forbidden"


class RateLimited(SpanseekError):
    """The API key has sent more requests than it may; nothing was done."""

    code = "rate_limited"

    def __init__(self, rate: int, *, retry_after_s: int) -> None:
        super().__init__(
            f"This API key allows {rate} requests a minute.",
            hint="Retry after the time in the header Retry-After; send several queries in one batch.",
        )
        self.retry_after_s = retry_after_s


class RouteNotFound(SpanseekError):
    """There is nothing at this path."""

    code = "route_not_found"


class MethodNotAllowed(SpanseekError):
    """The path exists, but not for this method."""

    code = "method_not_allowed"


class BodyTooLarge(SpanseekError):
    """The body is larger than the server accepts."""

    code = "body_too_large"


class UnsupportedMediaType(SpanseekError):
    """The body is not of a media type that this route reads."""

    code = "unsupported_media_type"


class NotAcceptable(SpanseekError):
    """The route answers in none of the media types that the request accepts."""

    code = "not_acceptable"

    def __init__(self, media_types: Sequence[str]) -> None:
        super().__init__(
            "The header Accept has no media type of this answer.", hint=f"Accept one of {', '.join(media_types)}."
        )


class HeadersTooLarge(SpanseekError):
    """The URL and the headers of the request are larger than the server accepts."""

    code = "headers_too_large"


class RequestTimeout(SpanseekError):
    """The body of the request did not arrive completely in time."""

    code = "request_timeout"


class TooManyConnections(SpanseekError):
    """The server answers as many requests at once as it may."""

    code = "too_many_connections"


class InternalError(SpanseekError):
    """The server failed; the request may be correct."""

    code = "internal_error"


class NotReady(SpanseekError):
    """The server cannot answer searches yet."""

    code = "not_ready"


# A class that is not here has the status of the nearest class it derives from; classes of plug-ins have their own.
STATUS: dict[type[SpanseekError], HTTPStatus] = {
    SpanseekError: HTTPStatus.INTERNAL_SERVER_ERROR,
    BadJson: HTTPStatus.BAD_REQUEST,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    indexer.KeyConfined: HTTPStatus.FORBIDDEN,
    RateLimited: HTTPStatus.TOO_MANY_REQUESTS,
    RouteNotFound: HTTPStatus.NOT_FOUND,
    indexer.CollectionNotFound: HTTPStatus.NOT_FOUND,
    indexer.DocumentNotFound: HTTPStatus.NOT_FOUND,
    indexer.AliasNotFound: HTTPStatus.NOT_FOUND,
    indexer.KeyNotFound: HTTPStatus.NOT_FOUND,
    indexer.TaskNotFound: HTTPStatus.NOT_FOUND,
    indexer.TaskUnfinished: HTTPStatus.CONFLICT,
    indexer.SnapshotNotFound: HTTPStatus.NOT_FOUND,
    indexer.TaskBacklogFull: HTTPStatus.TOO_MANY_REQUESTS,
    indexer.CalibrationNotFound: HTTPStatus.NOT_FOUND,
    indexer.PhraseNotFound: HTTPStatus.NOT_FOUND,
    MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    NotAcceptable: HTTPStatus.NOT_ACCEPTABLE,
    indexer.RecipeMismatch: HTTPStatus.CONFLICT,
    indexer.TextNotStored: HTTPStatus.CONFLICT,
    indexer.CalibrationMismatch: HTTPStatus.CONFLICT,
    indexer.CalibrationActive: HTTPStatus.CONFLICT,
    indexer.PhraseExists: HTTPStatus.CONFLICT,
    indexer.PhrasePaused: HTTPStatus.CONFLICT,
    indexer.MatchNotFound: HTTPStatus.NOT_FOUND,
    indexer.NothingToUndo: HTTPStatus.CONFLICT,
    indexer.BordersMissing: HTTPStatus.CONFLICT,
    indexer.CollectionBusy: HTTPStatus.CONFLICT,
    indexer.CollectionExists: HTTPStatus.CONFLICT,
    indexer.CollectionAliased: HTTPStatus.CONFLICT,
    indexer.AliasExists: HTTPStatus.CONFLICT,
    indexer.CursorExpired: HTTPStatus.GONE,
    indexer.LeaseLost: HTTPStatus.CONFLICT,
    RequestTimeout: HTTPStatus.REQUEST_TIMEOUT,
    BodyTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HeadersTooLarge: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    models.InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    search.QueueFull: HTTPStatus.TOO_MANY_REQUESTS,
    indexer.ClusterBusy: HTTPStatus.TOO_MANY_REQUESTS,
    search.ShuttingDown: HTTPStatus.SERVICE_UNAVAILABLE,
    IssuerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    NotReady: HTTPStatus.SERVICE_UNAVAILABLE,
    TooManyConnections: HTTPStatus.SERVICE_UNAVAILABLE,
    indexer.CatalogUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    indexer.CatalogNotInitialised: HTTPStatus.SERVICE_UNAVAILABLE,
    indexer.ResourcesExhausted: HTTPStatus.SERVICE_UNAVAILABLE,
    indexer.SegmentsUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    indexer.StorageFailed: HTTPStatus.SERVICE_UNAVAILABLE,
    models.BackboneMissing: HTTPStatus.SERVICE_UNAVAILABLE,
    models.BackboneMismatch: HTTPStatus.SERVICE_UNAVAILABLE,
    models.DeviceUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    indexer.ExecutorUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    models.UnknownEncoder: HTTPStatus.SERVICE_UNAVAILABLE,
    search.DeadlineExceeded: HTTPStatus.GATEWAY_TIMEOUT,
    indexer.StorageFull: HTTPStatus.INSUFFICIENT_STORAGE,
    models.DeviceMemoryExhausted: HTTPStatus.INSUFFICIENT_STORAGE,
}

HEADERS: dict[type[SpanseekError], Mapping[str, str]] = {
    Unauthenticated: {"WWW-Authenticate": 'Bearer realm="spanseek"'},
    IssuerUnavailable: {"Retry-After": "1"},
    indexer.CollectionBusy: {"Retry-After": "1"},
    indexer.ClusterBusy: {"Retry-After": "1"},
    indexer.ResourcesExhausted: {"Retry-After": "1"},
    indexer.SegmentsUnavailable: {"Retry-After": "5"},
    indexer.SegmentsUnreachable: {"Retry-After": "1"},
    indexer.TaskBacklogFull: {"Retry-After": "10"},
    search.QueueFull: {"Retry-After": "1"},
    search.ShuttingDown: {"Retry-After": "1"},
}

_OF_SERVER = (
    search.QueueFull,
    search.ShuttingDown,
    search.DeadlineExceeded,
    indexer.ClusterBusy,
    indexer.ResourcesExhausted,
    indexer.SegmentsUnavailable,
    indexer.CatalogUnavailable,
    indexer.CatalogNotInitialised,
    indexer.SegmentsUnreachable,
)
FieldErrors = Sequence[tuple[str, str]]


def status_of(kind: type[SpanseekError]) -> HTTPStatus:
    """The HTTP status of an error class.

    >>> status_of(indexer.SourceUnreadable).value
    422
    """
    if kind.http_status is not None:
        return HTTPStatus(kind.http_status)
    return next(STATUS[base] for base in kind.__mro__ if base in STATUS)


def is_of_server(error: SpanseekError) -> bool:
    """True for an error that other requests have, too, and that passes: what is overloaded, stops or has no catalog.

    >>> is_of_server(models.InvalidInput("top_k")), is_of_server(search.QueueFull("256 are waiting"))
    (False, True)
    """
    return isinstance(error, _OF_SERVER)


def title_of(kind: type[SpanseekError]) -> str:
    """The title of an error class: the first line of its docstring."""
    return (kind.__doc__ or kind.code).splitlines()[0].removesuffix(".")


def problem(error: SpanseekError, fields: FieldErrors = (), **more: object) -> dict[str, object]:
    """The body of an error's answer; ``fields`` defaults to the one field that the error names."""
    if not fields and error.field is not None:
        fields = [(error.field, str(error))]
    body: dict[str, object] = {
        "type": f"urn:spanseek:error:{error.code}",
        "title": title_of(type(error)),
        "status": int(status_of(type(error))),
        "detail": printable(str(error)),
        "code": error.code,
        "hint": printable(error.hint),
    }
    if fields:
        body["errors"] = [{"field": printable(name), "message": printable(message)} for name, message in fields]
    return body | more


def problem_response(error: SpanseekError, fields: FieldErrors = (), **more: object) -> Response:
    """The answer to a request that failed."""
    return Response(
        to_json(problem(error, fields, **more)),
        status_of(type(error)),
        _headers(error),
        MEDIA_TYPE,
    )


def _headers(error: SpanseekError) -> Mapping[str, str] | None:
    if isinstance(error, RateLimited):
        return {"Retry-After": str(error.retry_after_s)}
    return HEADERS.get(type(error))


def internal_error() -> InternalError:
    """The answer to an unforeseen error; details are in the log only."""
    return InternalError("The server failed in an unforeseen way.", hint="The server's log has the details.")


def add_error_handlers(app: FastAPI) -> None:
    """Answer foreseen errors with problems; ``ServerErrorMiddleware`` answers the others."""
    handlers: dict[type[Exception], Any] = {
        SpanseekError: _spanseek_error,
        RequestValidationError: _validation_error,
        HTTPException: _framework_error,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _spanseek_error(_: Request, error: SpanseekError) -> Response:
    return problem_response(error)


async def _validation_error(request: Request, error: RequestValidationError) -> Response:
    errors = error.errors()
    first = errors[0]
    if first["loc"] == ("body",) and _has_body(request) and not is_json(request):
        return problem_response(_not_json(request))
    # In a query, one field is not JSON; in a body, all of it.
    if first["type"] == "json_invalid" and first["loc"][0] == "body":
        return problem_response(_bad_json(f": {first['ctx']['error']} (character {first['loc'][-1]})."))
    kind = error.body.get("kind") if isinstance(error.body, dict) else None
    # Of several forms of a body, pydantic names the one that was read.
    places = [each["loc"][2 if kind and each["loc"][1:2] == (kind,) else 1 :] for each in errors]
    fields = list(field_errors([{**each, "loc": place} for each, place in zip(errors, places, strict=True)]))
    name, message = fields[0]
    return problem_response(models.InvalidInput(f"{name}: {message}", hint=_FIELDS_HINT), fields)


async def _framework_error(request: Request, error: HTTPException) -> Response:
    """Answers of Starlette and FastAPI themselves, for routes, methods and bodies."""
    response = problem_response(_framework_problem(request, error))
    response.headers.update(error.headers or {})
    return response


def _framework_problem(request: Request, error: HTTPException) -> SpanseekError:
    match error.status_code:
        case 400:
            return _bad_json(".")
        case 404:
            return RouteNotFound(f"There is nothing at {request.url.path}.", hint="See /docs.")
        case 405:
            return MethodNotAllowed(f"{request.url.path} does not support {request.method}.", hint="See /docs.")
        case 408:
            return RequestTimeout(error.detail, hint="Send it faster, or less at once.")
        case 413:
            return BodyTooLarge(error.detail, hint="Send less at once.")
    return InternalError(error.detail)


def _has_body(request: Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def is_json(request: Request) -> bool:
    """True if a request says that its body is JSON."""
    media_type = media_type_of(request.headers.get("content-type", ""))
    return media_type == "application/json" or media_type.endswith("+json")


def _not_json(request: Request) -> UnsupportedMediaType:
    media_type = media_type_of(request.headers.get("content-type", ""))
    return unsupported(media_type, "Send a JSON object, with Content-Type: application/json.")


def unsupported(media_type: str, hint: str) -> UnsupportedMediaType:
    """The error for a body of another media type."""
    return UnsupportedMediaType(
        f"A body of type {media_type or 'unknown'!r} cannot be read.", hint=hint, field="Content-Type"
    )


def media_type_of(content_type: str) -> str:
    """The media type that a header names, in small letters.

    >>> media_type_of("Application/JSON; charset=utf-8")
    'application/json'
    """
    return content_type.partition(";")[0].strip().lower()


def _bad_json(why: str) -> BadJson:
    return BadJson(f"The body is not JSON{why}", hint="Send one JSON object, encoded in UTF-8.")


_FIELDS_HINT = "`errors` names every field that must be changed; /docs says what each may be."
