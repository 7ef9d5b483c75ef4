"""Requests and their answers: errors as exceptions, and retries where they are safe."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from time import sleep
from typing import Any, TypeAlias

import httpx

from spanseek.answers import read
from spanseek.errors import ConnectionFailed, SpanseekError
from spanseek.owners import Owner, process
from spanseek.problems import answers_from, problem_of, valid_requests
from spanseek.retries import Retries
from spanseek.values import json_of

# The body of an upload. What is read piece by piece is sent once: it cannot be repeated.
Content: TypeAlias = bytes | Iterable[bytes]


class Transport:
    """Sends requests to the server at ``url``; ``end`` says whether that has ended for good.

    ``connect`` makes the connections, for every owner its own.
    """

    def __init__(
        self,
        url: str,
        connect: Callable[[], httpx.Client],
        retries: Retries,
        end: Callable[[], ConnectionFailed | None] = lambda: None,
    ) -> None:
        self._url, self._connect, self._retries = url, connect, retries
        self._answers = partial(answers_from, url, end)
        self._owned: dict[Owner, httpx.Client] = {}
        self._is_closed = False

    def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        own = self._owned.pop(process(), None)
        self._owned.clear()
        if own is not None:
            own.close()

    def request(self, method: str, path: str, **fields: Any) -> httpx.Response:  # noqa: ANN401
        """The answer to a request, whole. Raises ``ApiError`` and ``ConnectionFailed``.

        ``fields`` are ``params``, ``json``, or ``content`` with ``content_type`` and ``content_encoding``. Those that
        are None are not sent. A request that is ``repeatable`` is sent again where its answer was lost.
        """
        return self._send(method, path, stream=False, **fields)

    def lines(self, method: str, path: str, **fields: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
        """The objects of an answer of NDJSON, as they arrive."""
        response = self._send(method, path, stream=True, **fields)
        with self._answers(), closing(response):
            for line in response.iter_lines():
                if line.strip():
                    yield read(dict[str, Any], line)

    def events(self, method: str, path: str, **fields: Any) -> Iterator[dict[str, str]]:  # noqa: ANN401
        """Server-sent events as they arrive, with ``event``, ``id`` and ``data`` where they are there."""
        event: dict[str, str] = {}
        response = self._send(method, path, stream=True, **fields)
        with self._answers(), closing(response):
            for line in response.iter_lines():
                name, _, value = line.partition(":")
                if not line and "data" in event:
                    yield event
                if not line:
                    event = {}
                elif name:  # else it is a comment, which keeps the connection open
                    before = f"{event['data']}\n" if name == "data" and "data" in event else ""
                    event[name] = before + value.removeprefix(" ")

    def pieces(self, method: str, path: str, **fields: Any) -> Iterator[bytes]:  # noqa: ANN401
        """The bytes of an answer, as they arrive."""
        response = self._send(method, path, stream=True, **fields)
        with self._answers(), closing(response):
            for piece in response.iter_bytes():
                yield piece

    def _send(
        self,
        method: str,
        path: str,
        *,
        stream: bool,
        params: Mapping[str, object] | None = None,
        json: Mapping[str, object] | None = None,
        nulls: Sequence[str] = (),
        content: Content | None = None,
        content_type: str = "application/json",
        content_encoding: str | None = None,
        repeatable: bool = False,
    ) -> httpx.Response:
        headers = {"Content-Type": content_type} if content is not None or json is not None else {}
        if content_encoding is not None:
            headers["Content-Encoding"] = content_encoding
        body = content if json is None else json_of(_given(json, nulls))
        is_whole = body is None or isinstance(body, bytes)
        for attempt in count(1):
            with valid_requests(self._url):
                http = self._connections()
                request = http.build_request(method, path, params=_given(params or {}), content=body, headers=headers)
            try:
                with self._answers():
                    response = http.send(request, stream=stream)
                    if response.is_success:
                        return response
                    response.read()
            except ConnectionFailed as error:
                failure: SpanseekError = error
            except RuntimeError:  # also what httpx raises where another thread has closed the connections
                self._require_open()
                raise
            else:
                response.close()
                failure = problem_of(response)
            seconds = self._retries.wait(attempt, failure, repeatable=repeatable) if is_whole else None
            if seconds is None:
                raise failure
            sleep(seconds)
        raise AssertionError  # pragma: no cover  the loop has no end

    def _connections(self) -> httpx.Client:
        self._require_open()
        owner = process()
        http = self._owned.get(owner)
        if http is None:
            for each in [each for each in list(self._owned) if not each.is_alive]:
                self._owned.pop(each, None)
            http = self._owned.setdefault(owner, self._connect())
        return http

    def _require_open(self) -> None:
        if self._is_closed:
            raise SpanseekError("The client is closed: make a new one.")


def _given(fields: Mapping[str, object], nulls: Sequence[str] = ()) -> dict[str, Any]:
    """The fields that are not None; of those that may be null, all."""
    return {name: value for name, value in fields.items() if value is not None or name in nulls}
