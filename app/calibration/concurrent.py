"""Previews and calibrations for many callers: one after the other in a lane of low priority, behind the searches."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from app.calibration.service import ThresholdService
from app.http.lanes import Lane, step_back
from app.search.errors import DeadlineExceeded

Result = TypeVar("Result")


class ConcurrentThresholds:
    """The asynchronous face of a ``ThresholdService``. What only asks the database is asked of ``service`` itself."""

    def __init__(self, service: ThresholdService, *, queue_limit: int = 256) -> None:
        self.service = service
        self._lane: Lane[Callable[[], Any], Any] = Lane("tune", _run, limit=queue_limit, batch=1, begin=step_back)

    @property
    def waiting(self) -> int:
        """How many requests wait in the lane."""
        return self._lane.waiting

    def close(self) -> None:
        """Finish what was asked for, then stop."""
        self._lane.close()

    async def run(self, work: Callable[[ThresholdService], Result], deadline_s: float) -> Result:
        """Do the work in the lane. Raises ``DeadlineExceeded`` when the time is up; what was begun goes on."""
        try:
            async with asyncio.timeout(deadline_s):
                result: Result = await asyncio.wrap_future(self._lane.submit(partial(work, self.service)))
        except TimeoutError:
            raise DeadlineExceeded(
                f"Not done within {deadline_s:g} s.", hint="Ask for less at once, or use the command line."
            ) from None
        return result


def _run(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    return [job() for job in jobs]
