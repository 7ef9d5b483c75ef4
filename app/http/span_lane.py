"""Spans of texts for many callers: a lane of low priority, in which a request has one slice of its texts at a time.

So searches keep the cores, requests take turns, and of a request whose time has run out no further slice is encoded.
"""

from collections.abc import Mapping
from functools import partial

from app.http.lanes import JobLane, deadline
from app.texts.requests import SpansRequest
from app.texts.span_answers import SpansAnswer, TextSpans, check_size
from app.texts.spans import SpanService, slices

_TIMEOUT = "The spans were not found within {seconds:g} s."
_HINT = "Retry, or send fewer or shorter texts at once."


class SpanLane:
    """The asynchronous interface of a ``SpanService``; the event loop never blocks."""

    def __init__(self, service: SpanService, *, queue_limit: int = 256) -> None:
        self._service = service
        self._lane = JobLane("spans", timeout=_TIMEOUT, hint=_HINT, limit=queue_limit)

    def close(self) -> None:
        """Finish the queued slices, then stop."""
        self._lane.close()

    @property
    def waiting(self) -> Mapping[str, int]:
        """The number of waiting requests."""
        return {"spans": self._lane.waiting}

    async def find(self, request: SpansRequest, deadline_s: float) -> SpansAnswer:
        """Answer one request. Raises ``DeadlineExceeded``; a slice that has started is finished."""
        check_size(request.texts)
        results: list[TextSpans] = []
        async with deadline(deadline_s, _TIMEOUT.format(seconds=deadline_s), hint=_HINT):
            phrases = await self._lane.run(partial(self._service.encode, request), deadline_s)
            for part in slices(request.texts):
                results += await self._lane.run(partial(self._service.search, phrases, part), deadline_s)
        return self._service.answer(phrases, results)
