"""Spanseek finds the phrase, not the page: one interface to a folder of your own and to a server.

>>> sorted(name for name in __all__ if name.startswith(("connect", "open")))
['connect', 'connect_async', 'open', 'open_async']

``open`` and ``connect`` give a ``Client``, whose collections are searched in the same way. Importing this module loads
neither httpx nor pydantic; the first call does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanseek.asynchronous.client import AsyncClient, connect_async, open_async
    from spanseek.asynchronous.collection import AsyncCollection
    from spanseek.embedded import ProcessEnded, ProductMissing, ServerNotStarted
    from spanseek.errors import ApiError, ConnectionFailed, SpanseekError, TaskFailed
    from spanseek.hits import Hits
    from spanseek.retries import Retries
    from spanseek.synchronous.client import Client, connect, open
    from spanseek.synchronous.collection import Collection

_HOMES = {
    "AsyncClient": "asynchronous.client",
    "AsyncCollection": "asynchronous.collection",
    "ApiError": "errors",
    "Client": "synchronous.client",
    "Collection": "synchronous.collection",
    "ConnectionFailed": "errors",
    "Hits": "hits",
    "ProcessEnded": "embedded",
    "ProductMissing": "embedded",
    "Retries": "retries",
    "ServerNotStarted": "embedded",
    "SpanseekError": "errors",
    "TaskFailed": "errors",
    "connect": "synchronous.client",
    "connect_async": "asynchronous.client",
    "open": "synchronous.client",
    "open_async": "asynchronous.client",
}
__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncCollection",
    "Client",
    "Collection",
    "ConnectionFailed",
    "Hits",
    "ProcessEnded",
    "ProductMissing",
    "Retries",
    "ServerNotStarted",
    "SpanseekError",
    "TaskFailed",
    "connect",
    "connect_async",
    "open",
    "open_async",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module 'spanseek' has no attribute {name!r}")
    value = getattr(import_module(f"spanseek.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
