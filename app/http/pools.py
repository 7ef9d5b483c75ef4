"""Pools: threads of their own for calls that may block, so that those that wait take none from searches and keys."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from threading import Lock
from typing import Any, Final, TypeVar

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from app.http.lanes import deadline
from app.http.problems import is_json
from app.search.errors import QueueFull
from models.priority import lower_priority

# Bodies of this size and more are parsed in a thread, which takes a tenth of a millisecond.
_LONG_BODY: Final = 2**13

Result = TypeVar("Result")


class Places:
    """A number of places; one who finds none is refused.

    >>> places = Places(1, "{limit} upload arrives already.")
    >>> with places.taken(), places.taken():
    ...     pass
    Traceback (most recent call last):
    app.search.errors.QueueFull: 1 upload arrives already.
    """

    def __init__(self, limit: int, message: str) -> None:
        self._free, self._lock = limit, Lock()
        self._message = message.format(limit=limit)

    def take(self) -> None:
        """Take a place. Raises ``QueueFull``."""
        with self._lock:
            if not self._free:
                raise QueueFull(self._message, hint="Retry in a moment, or send fewer at once.")
            self._free -= 1

    def give_back(self, _: object = None) -> None:
        """Give a place back."""
        with self._lock:
            self._free += 1

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place while the block runs."""
        self.take()
        try:
            yield
        finally:
            self.give_back()


class Pool:
    """Threads of low priority for one kind of calls; at most ``limit`` of them run or wait for a thread.

    >>> pool = Pool("double", threads=1, limit=8)
    >>> asyncio.run(pool.run(lambda: 2 * 21))
    42
    >>> pool.close()
    """

    def __init__(self, name: str, *, threads: int, limit: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"pool-{name}", initializer=lower_priority)
        self._places = Places(limit, "{limit} such requests are waiting already.")

    async def run(self, job: Callable[[], Result]) -> Result:
        """Run a job. Raises ``QueueFull``; a job that has started continues if the caller goes."""
        self._places.take()
        future: Future[Result] = self._threads.submit(copy_context().run, job)
        future.add_done_callback(self._places.give_back)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish the jobs that have started, and drop the others."""
        self._threads.shutdown(cancel_futures=True)


async def run_in_time(pool: Pool, job: Callable[[], Result], seconds: float) -> Result:
    """The result of a job in a pool. Raises ``DeadlineExceeded``."""
    message = f"Not done within {seconds:g} s; it may be yet."
    async with deadline(seconds, message, hint="Retry; check that the database answers."):
        return await pool.run(job)


class BodyRoute(APIRoute):
    """A route that parses long bodies in a thread, so that the event loop serves others meanwhile."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of FastAPI, which takes a body that is parsed already as it is."""
        handle = super().get_route_handler()
        if self.body_field is None or len(self.dependant.body_params) != 1:
            return handle

        async def handler(request: Request) -> Response:
            body = await request.body()
            if len(body) < _LONG_BODY or not is_json(request):
                return await handle(_ReadRequest(request, body))
            value = await asyncio.to_thread(self._parsed, body)
            return await handle(_ReadRequest(request, body, value))

        return handler

    def _parsed(self, body: bytes) -> object:
        """The body as the route takes it. Raises what FastAPI raises."""
        try:
            value = json.loads(body)
        except json.JSONDecodeError as error:
            detail = {"type": "json_invalid", "loc": ("body", error.pos), "msg": error.msg, "ctx": {"error": error.msg}}
            raise RequestValidationError([detail]) from error
        except (ValueError, RecursionError) as error:
            raise HTTPException(400) from error
        valid, errors = self.body_field.validate(value, loc=("body",))  # type: ignore[union-attr]
        if errors:
            raise RequestValidationError(errors, body=value)
        return valid


class _ReadRequest(Request):
    """A request whose body has been read, and parsed where ``value`` is given."""

    def __init__(self, request: Request, body: bytes, value: object = None) -> None:
        super().__init__(request.scope, request.receive)
        self._read, self._value = body, value

    async def body(self) -> bytes:
        """The body."""
        return self._read

    async def json(self) -> Any:  # noqa: ANN401
        """The body as the route takes it, or its JSON."""
        return json.loads(self._read) if self._value is None else self._value
