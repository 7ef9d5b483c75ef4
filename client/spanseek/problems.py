"""Conversion of error answers to exceptions."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from spanseek.errors import ApiError, ConnectionFailed
from spanseek.errors_by_code import BY_CODE


def problem_of(response: httpx.Response) -> ApiError:
    """The exception of an error answer whose body was read; it has no code if a proxy answered."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    kind = BY_CODE.get(body.get("code", ""), ApiError)
    return kind(
        body.get("detail") or f"The server answered {response.status_code} {response.reason_phrase}.",
        body.get("hint") or "",
        status=response.status_code,
        fields=[(each["field"], each["message"]) for each in body.get("errors", ())],
        retry_after_s=retry_after(response.headers),
        request_id=response.headers.get("X-Request-ID", ""),
        body=body,
    )


def failed_query(error: Mapping[str, Any]) -> ApiError:
    """The error of one query of a batch."""
    fields = [(error["field"], error["detail"])] if error.get("field") else []
    return BY_CODE.get(error["code"], ApiError)(error["detail"], error.get("hint") or "", fields=fields)


def connection_failure(error: httpx.TransportError, url: str) -> ConnectionFailed:
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
