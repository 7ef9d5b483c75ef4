"""Errors. Those of the API have a class for every code, in ``spanseek.errors_by_code``."""

import copyreg
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

# The codes of refusals: the server says that it did nothing, so that any request may be sent again.
_REFUSALS = frozenset(
    {"collection_busy", "rate_limited", "task_backlog_full", "too_many_connections", "too_many_requests"}
)


class SpanseekError(Exception):
    """The base of all errors of the client."""

    hint: str = ""
    retry_after_s: float | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied by their values: the arguments of __init__ differ from class to class, and are not kept.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    @property
    def did_nothing(self) -> bool:
        """True if the server is known to have done nothing."""
        return False

    @property
    def passes(self) -> bool:
        """True if the same request may succeed a moment later."""
        return False


class ApiError(SpanseekError):
    """The API answered with an error. ``code`` never changes for a kind of error; ``hint`` says what to do.

    ``fields`` names the fields of the request that are at fault, each with the reason.
    """

    code: ClassVar[str] = ""

    def __init__(
        self,
        detail: str,
        hint: str = "",
        *,
        status: int = 0,
        fields: Sequence[tuple[str, str]] = (),
        retry_after_s: float | None = None,
        request_id: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{detail} {hint}".strip())
        self.detail, self.hint, self.status, self.fields = detail, hint, status, tuple(fields)
        self.retry_after_s, self.request_id, self.body = retry_after_s, request_id, dict(body or {})

    @property
    def did_nothing(self) -> bool:
        """True if the server refused the request, or a proxy says that it did not reach the server."""
        return self.code in _REFUSALS

    @property
    def passes(self) -> bool:
        """True if the server named a time after which to retry, or a proxy found no server."""
        return self.did_nothing or self.retry_after_s is not None or (not self.code and self.status in (502, 503))


class ConnectionFailed(SpanseekError):
    """The server was not reached, or the connection broke."""

    def __init__(self, url: str, why: str, *, was_sent: bool) -> None:
        super().__init__(f"No answer from {url}: {why}.")
        self.hint = "Check the address, and that the server runs."
        self._was_sent = was_sent

    @property
    def did_nothing(self) -> bool:
        """True if there was no connection at all."""
        return not self._was_sent

    @property
    def passes(self) -> bool:
        """True: the server may be back."""
        return True


class TaskFailed(SpanseekError):
    """A task did not end well; ``code`` says why, and ``task`` is its description."""

    def __init__(self, task: Any) -> None:  # noqa: ANN401  a ``TaskDescription``, whose module is loaded later
        error = task.error
        super().__init__(f"The task {task.id} is {task.status}{f': {error.detail}' if error else '.'}")
        self.task, self.code, self.hint = task, error.code if error else "", error.hint if error else ""


class ColumnMissing(SpanseekError):
    """A table has no column of this name."""
