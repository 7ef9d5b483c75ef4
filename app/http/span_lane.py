"""Spans of texts for many callers: a lane of low priority, in which a request has one step at a time.

A step is a forward pass or two, less than a second of one core. So searches keep the cores, requests take turns, and
of a request whose caller has gone or whose time has run out no further step begins. One that cannot be answered in time
is refused as soon as that is known.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial

from starlette.requests import ClientDisconnect

from app.http.lanes import JobLane, deadline
from app.texts.requests import SpansRequest
from app.texts.span_answers import SpansAnswer, TooMuchText, check_size
from app.texts.spans import FoundSpans, Searched, SpanService, slices

_TIMEOUT = "The spans were not found within {seconds:g} s."
_HINT = "Retry, or send fewer or shorter texts at once."
# Of a shorter time no pace follows.
_MEASURED_S = 2.0


async def _here() -> bool:
    return False


def check_pace(size: int, characters: int, seconds: float, deadline_s: float) -> None:
    """Raise ``TooMuchText`` for texts that could not be encoded in time if they were alone.

    So many of their ``size`` characters were encoded in so many seconds. The pace is that of these very texts: others
    have up to ten times as many tokens for a character.

    >>> check_pace(300_000, 20_000, 4.0, 60)
    >>> check_pace(780_000, 1_000, 0.2, 60)
    >>> check_pace(780_000, 20_000, 4.0, 60)
    Traceback (most recent call last):
    app.texts.span_answers.TooMuchText: The texts have 780,000 characters; at about 5,000 a second this server encodes \
300,000 in the 60 s that a request may take.
    """
    if seconds < _MEASURED_S or size * seconds <= characters * deadline_s:
        return
    pace = characters / seconds
    raise TooMuchText(
        f"The texts have {size:,} characters; at about {pace:,.0f} a second this server encodes "
        f"{pace * deadline_s:,.0f} in the {deadline_s:g} s that a request may take.",
        hint="Send them in several requests, or index them.",
        field="texts",
    )


class SpanLane:
    """The asynchronous interface of a ``SpanService``; the event loop never blocks. ``clock`` tells seconds."""

    def __init__(
        self, service: SpanService, *, queue_limit: int = 256, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._service = service
        self._clock = clock
        self._is_warm = False
        self._lane = JobLane("spans", timeout=_TIMEOUT, hint=_HINT, limit=queue_limit)

    def close(self) -> None:
        """Finish the queued steps, then stop."""
        self._lane.close()

    @property
    def waiting(self) -> Mapping[str, int]:
        """The number of waiting requests."""
        return {"spans": self._lane.waiting}

    async def find(
        self, request: SpansRequest, deadline_s: float, gone: Callable[[], Awaitable[bool]] = _here
    ) -> SpansAnswer:
        """Answer one request. ``gone`` says that nobody waits for the answer any longer.

        Raises ``DeadlineExceeded``, ``TooMuchText`` and ``ClientDisconnect``; no step begins after them.
        """
        check_size(request.texts)
        size = sum(len(text.text) for text in request.texts)
        results: list[FoundSpans] = []
        async with deadline(deadline_s, _TIMEOUT.format(seconds=deadline_s), hint=_HINT):
            phrases = await self._lane.run(partial(self._service.encode, request), deadline_s)
            steps = (step for part in slices(request.texts) for step in self._service.search(phrases, part))
            characters, seconds = 0, 0.0
            while True:
                step, took = await self._lane.run(partial(self._timed, steps), deadline_s)
                if step is None:
                    return await self._lane.run(partial(self._service.answer, phrases, results), deadline_s)
                results += step.texts
                if self._is_warm:  # the first step of a process loads weights and kernels
                    characters, seconds = characters + step.characters, seconds + took
                    check_pace(size, characters, seconds, deadline_s)
                self._is_warm = True
                if await gone():
                    raise ClientDisconnect

    def _timed(self, steps: Iterator[Searched]) -> tuple[Searched | None, float]:
        """The next step, None at the end, and the seconds that it took."""
        started = self._clock()
        step = next(steps, None)
        return step, self._clock() - started
