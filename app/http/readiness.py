"""Readiness checks in a separate thread: if the catalog hangs, only they hang."""

from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import TypeAlias

from app.http.lanes import Lane, run_in_lane
from models.errors import SpanseekError

# Probes wait a few seconds at most; a check takes milliseconds.
_MAX_WAIT_S = 2.0

Checks: TypeAlias = Mapping[str, SpanseekError | None]


class Readiness:
    """Checks for many callers; concurrent calls share a check."""

    def __init__(self, checks: Callable[[], Checks], deadline_s: float) -> None:
        self._run = checks
        self._deadline_s = min(deadline_s, _MAX_WAIT_S)
        self._lane: Lane[None, Checks] = Lane("ready", self._work)

    def close(self) -> None:
        """Stop after the current check, without waiting for it."""
        Thread(target=self._lane.close, daemon=True).start()

    async def checks(self) -> Checks:
        """The dependencies of answers, each with its error or None; one error if the checks take too long."""
        message = f"The checks were not done within {self._deadline_s:g} s."
        hint = "The database may not answer; check it."
        try:
            return await run_in_lane(self._lane, None, self._deadline_s, message, hint=hint)
        except SpanseekError as error:
            return {"database": error}

    def _work(self, callers: Sequence[None]) -> list[Checks]:
        return [self._run()] * len(callers)
