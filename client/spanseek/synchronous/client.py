"""The client of one server, or of one folder."""

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from spanseek.embedded import EmbeddedServer
from spanseek.hits import TextHits
from spanseek.models import CollectionDescription
from spanseek.problems import valid_requests
from spanseek.requests import Threshold, authorization, listed, threshold_fields
from spanseek.retries import Retries
from spanseek.synchronous.api import Api
from spanseek.synchronous.collection import Collection
from spanseek.synchronous.transport import Transport

# Beyond the server's own deadlines, which answer with what to do.
_TIMEOUT = httpx.Timeout(330.0, connect=10.0)


def connect(
    url: str = "http://127.0.0.1:8000",
    key: str | None = None,
    *,
    retries: Retries = Retries(),
    timeout: float | httpx.Timeout = _TIMEOUT,
) -> "Client":
    """A client of a server. ``key`` is an API key, which a server needs that has any.

    Raises ``SpanseekError`` for an address or a key that cannot be one.

    >>> connect("http://search.internal:8000").url
    'http://search.internal:8000'
    """
    with valid_requests(url):
        base, headers = httpx.URL(url), authorization(key)

    def over() -> httpx.Client:
        return httpx.Client(base_url=base, headers=headers, timeout=timeout)

    return Client(Transport(url, over, retries), url)


def open(folder: str | os.PathLike[str], *, retries: Retries = Retries(), **settings: object) -> "Client":
    """A client of a folder on this machine, which is made if it is not there. It needs the product.

    A process of its own reads the folder, and ends with this program or with ``close``. The call returns when that is
    ready, after some seconds. ``settings`` are those of docs/settings.md in small letters, such as
    ``encoder="slice128"``. Raises ``ProductMissing`` and ``ServerNotStarted``.
    """
    server = EmbeddedServer(folder, settings)

    def over() -> httpx.Client:
        socket = httpx.HTTPTransport(uds=server.socket)
        return httpx.Client(base_url="http://localhost", transport=socket, timeout=_TIMEOUT)

    return Client(Transport("http://localhost", over, retries, server.end), str(folder), server)


class Client:
    """All that a server does. ``api`` has a method for every operation; the others are what most programs need."""

    def __init__(self, transport: Transport, url: str, server: EmbeddedServer | None = None) -> None:
        self._transport, self._server, self.url = transport, server, url
        self.api = Api(transport)

    def close(self) -> None:
        """Close all connections, and stop the process of a folder."""
        self._transport.close()
        if self._server is not None:
            self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<spanseek {self.url}>"

    def collection(self, name: str) -> Collection:
        """A collection, which need not be there: ``add`` makes it."""
        return Collection(self.api, name)

    def collections(self) -> list[CollectionDescription]:
        """All collections that the key may search."""
        return (self.api.list_collections()).collections

    def spans(
        self,
        phrases: str | Iterable[str],
        texts: Iterable[str | Mapping[str, object]],
        *,
        limit: int = 3,
        threshold: Threshold | None = None,
        context: int = 80,
        **options: Any,  # noqa: ANN401
    ) -> list[TextHits]:
        """The best spans of texts that are not indexed, a list for each text. ``options`` are of ``POST /spans``."""
        answer = self.api.find_spans(
            phrases=listed(phrases),
            texts=listed(texts),
            limit=limit,
            context=context,
            **threshold_fields(threshold) | options,
        )
        return [TextHits(each.hits, answer, each.id) for each in answer.results]

    def serve(self, port: int = 8000) -> str:
        """The address of the page: the server's own, or for a folder that of a process that serves it from now on."""
        return self.url if self._server is None else self._server.serve(port)
