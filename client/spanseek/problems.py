"""Conversion of error answers, and of the errors of httpx, to those of the client."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from spanseek.errors import ApiError, ConnectionFailed, SpanseekError
from spanseek.errors_by_code import BY_CODE


def problem_of(response: httpx.Response) -> ApiError:
    """The exception of an error answer whose body was read; it has no code if a proxy answered."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    kind = BY_CODE.get(str(body.get("code")), ApiError)
    errors = body.get("errors")
    return kind(
        body.get("detail") or f"The server answered {response.status_code} {response.reason_phrase}.",
        body.get("hint") or "",
        status=response.status_code,
        fields=list(_fields(errors if isinstance(errors, list) else [])),
        retry_after_s=retry_after(response.headers),
        request_id=response.headers.get("X-Request-ID", ""),
        body=body,
    )


def _fields(errors: list[Any]) -> Iterator[tuple[str, str]]:
    """The fields at fault; what others than Spanseek call errors is left out."""
    for each in errors:
        if isinstance(each, dict) and {"field", "message"} <= each.keys():
            yield each["field"], each["message"]


def failed_query(error: Mapping[str, Any]) -> ApiError:
    """The error of one query of a batch."""
    fields = [(error["field"], error["detail"])] if error.get("field") else []
    return BY_CODE.get(error["code"], ApiError)(error["detail"], error.get("hint") or "", fields=fields)


@contextmanager
def valid_requests(url: str) -> Iterator[None]:
    """Raises ``SpanseekError`` for an address or for parameters of which no request can be made."""
    try:
        yield
    except (httpx.InvalidURL, UnicodeEncodeError) as error:
        raise SpanseekError(f"No such request can be sent to {url!r}: {error}.") from error


@contextmanager
def answers_from(url: str, end: Callable[[], ConnectionFailed | None]) -> Iterator[None]:
    """Raises ``ConnectionFailed`` where no answer comes, or the error that ``end`` has if the server ended for good."""
    try:
        yield
    except (httpx.RequestError, httpx.StreamError) as error:
        raise end() or connection_failure(error, url) from error


def connection_failure(error: Exception, url: str) -> ConnectionFailed:
    """The error of a request without an answer."""
    was_sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return ConnectionFailed(url, str(error) or type(error).__name__, was_sent=was_sent)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds that ``Retry-After`` says, as a number or as a date.

    >>> retry_after({"Retry-After": "2"}), retry_after({})
    (2.0, None)
    """
    value = headers.get("Retry-After", "")
    if value.isdigit():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
