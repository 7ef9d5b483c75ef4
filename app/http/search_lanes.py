"""Searches of many callers: prepare and finish in any thread, encode and scan in their lanes."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from copy import copy
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.http.lanes import Lane, deadline
from app.http.stages import Observe, Stage, unobserved
from app.search.service import Encoded, Prepared, Results, SearchService
from app.search.types import SearchAnswer, SearchRequest
from models.errors import SpanseekError

Item = TypeVar("Item")
Result = TypeVar("Result")


class SearchLanes:
    """The asynchronous interface of a ``SearchService``; the event loop never blocks.

    ``observe`` gets the seconds of every search in both queues, in encode and scan, which a batch shares, and in fetch.
    """

    def __init__(self, service: SearchService, *, queue_limit: int = 256, observe: Observe = unobserved) -> None:
        self._service, self._observe = service, observe
        self._encode: Lane[_Queued[Prepared], Encoded] = Lane(
            "encode", self._timed("encode", service.encode), limit=queue_limit
        )
        self._scan: Lane[_Queued[Encoded], Results] = Lane("scan", self._timed("scan", service.scan), limit=queue_limit)

    def close(self) -> None:
        """Finish queued searches, then stop."""
        self._encode.close()
        self._scan.close()

    async def search(self, request: SearchRequest, deadline_s: float) -> SearchAnswer:
        """Answer one request. Raises ``DeadlineExceeded``; work that has not started is dropped."""
        message = f"No answer within {deadline_s:g} s."
        async with deadline(deadline_s, message, hint="Retry, or ask for fewer queries at once."):
            return await self._answer(request)

    async def search_all(self, requests: Sequence[SearchRequest], deadline_s: float) -> list[SearchAnswer]:
        """Answer many requests together; the first error is raised, and stops the rest.

        A field that it names is one of ``queries[number]``.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._search_one_of(number, request, deadline_s))
                    for number, request in enumerate(requests)
                ]
        except ExceptionGroup as errors:
            raise _first_foreseen(errors) from None
        return [task.result() for task in tasks]

    @property
    def waiting(self) -> Mapping[str, int]:
        """The number of waiting requests, by lane."""
        return {"encode": self._encode.waiting, "scan": self._scan.waiting}

    async def _search_one_of(self, number: int, request: SearchRequest, deadline_s: float) -> SearchAnswer:
        try:
            return await self.search(request, deadline_s)
        except SpanseekError as error:
            if error.field is None:
                raise
            located = copy(error)  # A lane may give one error to many callers.
            located.field = f"queries[{number}].{error.field}"
            raise located from error

    async def _answer(self, request: SearchRequest) -> SearchAnswer:
        prepared = await asyncio.to_thread(self._service.prepare, request)
        encoded = await asyncio.wrap_future(self._encode.submit(_Queued(prepared)))
        results = await asyncio.wrap_future(self._scan.submit(_Queued(encoded)))
        return await asyncio.to_thread(self._fetch, encoded, results)

    def _fetch(self, encoded: Encoded, results: Results) -> SearchAnswer:
        started = time.perf_counter()
        answer = self._service.finish(encoded, results)
        self._observe("fetch", time.perf_counter() - started)
        return answer

    def _timed(
        self, stage: Stage, work: Callable[[Sequence[Item]], Sequence[Result]]
    ) -> Callable[[Sequence["_Queued[Item]"]], Sequence[Result]]:
        """The work, which observes every item's wait and stage in the context of its request."""

        def timed(batch: Sequence[_Queued[Item]]) -> Sequence[Result]:
            started = time.perf_counter()
            for queued in batch:
                queued.context.run(self._observe, "queue", started - queued.since)
            results = work([queued.item for queued in batch])
            seconds = time.perf_counter() - started
            for queued in batch:
                queued.context.run(self._observe, stage, seconds)
            return results

        return timed


@dataclass(frozen=True, slots=True)
class _Queued(Generic[Item]):
    """An item, the context of its request, and the time at which it was queued."""

    item: Item
    context: Context = field(default_factory=copy_context)
    since: float = field(default_factory=time.perf_counter)


def _first_foreseen(errors: ExceptionGroup[Exception]) -> Exception:
    """The first ``SpanseekError`` of a group, else the group."""
    foreseen, others = errors.split(SpanseekError)
    return errors if foreseen is None or others is not None else foreseen.exceptions[0]
