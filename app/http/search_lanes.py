"""Searches of many callers: prepare and finish in any thread, encode, scan and exact counts in their lanes.

Where a collection does not store texts, a decoder restores the texts of hits, which takes all processors:
it has a lane of its own, so that the threads that finish other searches stay free.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from app.http.lanes import JobLane, Lane, deadline
from app.http.stages import Observe, Stage, unobserved
from app.requests import SearchRequest
from app.search.answers import CollectionsAnswer, SearchAnswer
from app.search.errors import QueueFull
from app.search.export import Export, exported
from app.search.federated import located, merged, requests_of
from app.search.literal import RankedRows
from app.search.request_plan import AnyEncoded, AnyPrepared
from app.search.service import AGAIN, Counted, SearchService, encode, finish, scan
from app.search.verification.ordering import Ordered
from indexer.errors import SegmentsUnreachable
from models.errors import SpanseekError

# Searches that wait for verification; it is left out for others, which are answered at once.
VERIFY_QUEUE: Final = 32
# Verification may take so much of the time that a search has left, and is left out where it takes longer.
VERIFY_SHARE: Final = 0.5

Item = TypeVar("Item")
Result = TypeVar("Result")


class SearchLanes:
    """The asynchronous interface of a ``SearchService``; the event loop never blocks.

    ``observe`` gets the seconds of every search in both queues, in encode and scan, which a batch shares, and in fetch.
    """

    def __init__(self, service: SearchService, *, queue_limit: int = 256, observe: Observe = unobserved) -> None:
        self._service, self._observe = service, observe
        self._encode: Lane[_Queued[AnyPrepared], AnyEncoded] = Lane(
            "encode", self._timed("encode", encode), limit=queue_limit
        )
        self._scan: Lane[_Queued[AnyEncoded], RankedRows] = Lane("scan", self._timed("scan", scan), limit=queue_limit)
        self._verify: Lane[_Queued[tuple[AnyEncoded, RankedRows]], Ordered] = Lane(
            "verify", self._timed("verify", service.verify), limit=VERIFY_QUEUE, batch=4
        )
        self._count = JobLane(
            "count",
            timeout="Not counted within the {seconds:g} s that were left.",
            hint="Ask without `total` and `estimate`, or with a filter or a higher threshold.",
            limit=queue_limit,
        )
        self.restoring = JobLane(
            "restore", timeout="Not restored within {seconds:g} s.", hint="Ask for less at once.", limit=queue_limit
        )

    def close(self) -> None:
        """Finish queued searches, then stop."""
        self._encode.close()
        self._scan.close()
        self._verify.close()
        self._count.close()
        self.restoring.close()

    async def search(self, request: SearchRequest, deadline_s: float) -> SearchAnswer:
        """Answer one request. Raises ``DeadlineExceeded``; work that has not started is dropped."""
        async with _in_time(deadline_s):
            return await self._answer(request, _now() + deadline_s)

    async def search_each(
        self, requests: Sequence[SearchRequest], deadline_s: float
    ) -> list[SearchAnswer | SpanseekError]:
        """Answer many requests together, each with its answer or its error."""
        return await asyncio.gather(*(self._search_or_error(request, deadline_s) for request in requests))

    async def search_several(
        self, request: SearchRequest, collections: Sequence[str], deadline_s: float
    ) -> CollectionsAnswer:
        """Answer one request over several collections. The first error is raised."""
        requests = await asyncio.to_thread(requests_of, self._service, request, collections)
        answers = await self.search_each(requests, deadline_s)
        for number, answer in enumerate(answers):
            if isinstance(answer, SpanseekError):
                raise located(answer, number)
        found = [answer for answer in answers if isinstance(answer, SearchAnswer)]
        return await asyncio.to_thread(merged, request, collections, found)

    async def export(self, request: SearchRequest, deadline_s: float) -> Export:
        """Search as for one request; the texts of its hits are read while they are taken."""
        async with _in_time(deadline_s):
            encoded = await self._encoded(request)
            results = await self._scanned_alone(encoded, _now() + deadline_s)
        return exported(self._service, encoded, results)

    @property
    def waiting(self) -> Mapping[str, int]:
        """The number of waiting requests, by lane."""
        return {
            "encode": self._encode.waiting,
            "scan": self._scan.waiting,
            "verify": self._verify.waiting,
            "count": self._count.waiting,
            "restore": self.restoring.waiting,
        }

    async def _search_or_error(self, request: SearchRequest, deadline_s: float) -> SearchAnswer | SpanseekError:
        try:
            return await self.search(request, deadline_s)
        except SpanseekError as error:
            return error

    async def _answer(self, request: SearchRequest, until: float) -> SearchAnswer:
        """The answer; again, without the segments, where a cluster lost some meanwhile."""
        for _ in range(AGAIN):
            with suppress(SegmentsUnreachable):
                return await self._answer_once(request, until)
        return await self._answer_once(request, until)

    async def _answer_once(self, request: SearchRequest, until: float) -> SearchAnswer:
        encoded, found = await self._results(request, until)
        results = await self._verified(encoded, found, until)
        counted = Counted()
        if request.total or request.estimate:
            counted = await self._count.run(lambda: self._service.counted(encoded), until - _now())
        if found and not encoded.prepared.snapshot.stores_text:
            fetch = partial(copy_context().run, self._fetch, encoded, results, counted)
            return await asyncio.wrap_future(self.restoring.submit(fetch))
        return await asyncio.to_thread(self._fetch, encoded, results, counted)

    async def _results(self, request: SearchRequest, until: float) -> tuple[AnyEncoded, RankedRows]:
        encoded = await self._encoded(request)
        if encoded.prepared.aggregation is None:
            return encoded, await asyncio.wrap_future(self._scan.submit(_Queued(encoded)))
        return encoded, await self._scanned_alone(encoded, until)

    async def _scanned_alone(self, encoded: AnyEncoded, until: float) -> RankedRows:
        """The results of a search for all hits: not in the lane of others, which it would hold for seconds."""
        (found,) = await self._count.run(lambda: scan([encoded]), until - _now())
        return found

    async def _verified(self, encoded: AnyEncoded, found: RankedRows, until: float) -> Ordered:
        """The results in the order of verification; as they were found if its lane has no room or no time."""
        prepared = encoded.prepared
        if not prepared.verification.count:
            return Ordered(found)
        # Without verdicts nothing would be kept, or the page before was in their order.
        needed = None not in prepared.verification.kept or prepared.page.judged
        left = (until - _now()) * VERIFY_SHARE
        limit = asyncio.timeout(None if needed else left)
        try:
            async with limit:
                return await asyncio.wrap_future(self._verify.submit(_Queued((encoded, found))))
        except (QueueFull, TimeoutError) as error:
            if needed or not (isinstance(error, QueueFull) or limit.expired()):
                raise
            return Ordered(found, verified=False)

    async def _encoded(self, request: SearchRequest) -> AnyEncoded:
        prepared = await asyncio.to_thread(self._service.prepare, request)
        return await asyncio.wrap_future(self._encode.submit(_Queued(prepared)))

    def _fetch(self, encoded: AnyEncoded, results: Ordered, counted: Counted) -> SearchAnswer:
        started = time.perf_counter()
        answer = finish(encoded, results, counted)
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


def _now() -> float:
    return asyncio.get_running_loop().time()


def _in_time(deadline_s: float) -> AbstractAsyncContextManager[None]:
    hint = "Retry, or ask for fewer queries at once."
    return deadline(deadline_s, f"No answer within {deadline_s:g} s.", hint=hint)
