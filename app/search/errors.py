"""Errors of searches."""

from models.errors import InvalidInput, SpanseekError


class ModeUnavailable(InvalidInput):
    """The collection does not hold what this mode searches."""

    code = "mode_unavailable"


class QueueFull(SpanseekError):
    """More requests are waiting than the server promises to answer in time."""

    code = "too_many_requests"


class DeadlineExceeded(SpanseekError):
    """The answer was not ready when the request's time ran out."""

    code = "deadline_exceeded"


class ShuttingDown(SpanseekError):
    """The server is stopping and takes no more work."""

    code = "shutting_down"
