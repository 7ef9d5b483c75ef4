"""The audit log: who searched, read or changed what, one JSON object a line for each request.

It names keys, collections and documents, and no texts unless a setting asks for those of searches. Operators rotate the
file with their own tools: a file that was moved away is made anew.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.auth import Caller
from app.http.middleware import labels, route_of
from app.http.request_ids import request_id_of
from app.settings import Settings
from models.errors import InvalidInput

# Bytes of a search's body that are logged, where texts are.
_MOST_BYTES: Final = 2**16
# Searches among the routes of administrators.
_SEARCHES: Final = {"preview_threshold", "propose_label_candidates"}

_log = logging.getLogger(__name__)


class AuditLog:
    """Writes records to a file, or to standard output (``-``). A failure to write is logged and fails no request."""

    def __init__(self, target: str, *, texts: bool = False) -> None:
        self.texts = texts
        self._handler = logging.StreamHandler(sys.stdout) if target == "-" else _file(target)
        self._handler.handleError = _failed  # type: ignore[method-assign]  # the standard library's way

    @classmethod
    def of(cls, settings: Settings) -> "AuditLog | None":
        """The audit log of the settings, if any. Raises ``InvalidInput`` for a file that cannot be written."""
        return cls(settings.audit_log, texts=settings.audit_texts) if settings.audit_log else None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record."""
        line = json.dumps(record, ensure_ascii=False)
        self._handler.handle(logging.LogRecord("audit", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()


class AuditMiddleware:
    """Records every request to a route that asks for a key, refused ones too, when it has been answered."""

    def __init__(self, app: ASGIApp, log: AuditLog) -> None:
        self.app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and record it."""
        route = route_of(scope) if scope["type"] == "http" else None
        if not isinstance(route, APIRoute) or not route.include_in_schema or "health" in route.tags:
            await self.app(scope, receive, send)
            return
        status, body = 500, bytearray()
        action = _action(scope, route)
        with_texts = self._log.texts and action == "search"

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        async def receive_and_note() -> Message:
            message = await receive()
            if with_texts and len(body) < _MOST_BYTES:
                body.extend(message.get("body", b"")[: _MOST_BYTES - len(body)])
            return message

        try:
            await self.app(scope, receive_and_note, send_and_note)
        finally:
            sent = {"query": scope["query_string"].decode("latin-1"), "body": _text(body)} if with_texts else {}
            self._log.write(_record(scope, route, action, status) | sent)


def _record(scope: Scope, route: Route, action: str, status: int) -> dict[str, Any]:
    method, template = labels(scope)
    state = scope.get("state", {})
    caller: Caller | None = state.get("caller")
    named: dict[str, str] = dict(route.matches(scope)[1].get("path_params", {}))
    collections = {named.pop("collection", None), *(caller.collections if caller else ())} - {None}
    documents = [named.pop("document_id", None), *(caller.documents if caller else ())]
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": request_id_of(scope),
        "client": scope["client"][0] if scope.get("client") else None,
        "key": state.get("key_id"),
        "name": caller.key.name if caller is not None and caller.key is not None else None,
        "action": action,
        "method": method,
        "route": template,
        "status": status,
        "collections": sorted(collections),
        "documents": [id for id in dict.fromkeys(documents) if id is not None],
        **({"named": named} if named else {}),
    }


def _action(scope: Scope, route: APIRoute) -> str:
    if "search" in route.tags or route.name in _SEARCHES:
        return "search"
    return "read" if scope["method"] == "GET" else "change"


def _text(body: bytearray) -> str:
    return bytes(body).decode("utf-8", "replace")


def _file(path: str) -> logging.Handler:
    try:
        return WatchedFileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InvalidInput(
            f"The audit log {path} cannot be written: {error.strerror or error}.",
            hint="Set SPANSEEK_AUDIT_LOG to a file in a folder that is there and may be written to, or to `-`.",
            field="audit_log",
        ) from error


def _failed(record: logging.LogRecord) -> None:
    _log.error("a record of the audit log was not written: %s", sys.exception())
