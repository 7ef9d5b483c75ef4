"""Rules for sending a request again."""

import random
from dataclasses import dataclass

from spanseek.errors import SpanseekError


@dataclass(frozen=True, slots=True)
class Retries:
    """Sends a request again where that is safe: it can be repeated, or the server did nothing.

    ``Retry-After`` is honoured, unless it is beyond ``longest_s``; without one, waits double, with jitter.

    >>> Retries(attempts=1).wait(1, SpanseekError(), repeatable=True) is None
    True
    """

    attempts: int = 4
    longest_s: float = 60.0
    first_s: float = 0.25

    def wait(self, attempt: int, failure: SpanseekError, *, repeatable: bool) -> float | None:
        """The seconds to wait after a failed attempt, counted from 1; None if it was the last one."""
        is_safe = failure.did_nothing or (repeatable and failure.passes)
        if not is_safe or attempt >= self.attempts:
            return None
        if failure.retry_after_s is not None:
            return failure.retry_after_s if failure.retry_after_s <= self.longest_s else None
        return float(self.first_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311  no secret
