"""``/health``: liveness and readiness checks. They need no key and reveal no texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from starlette.responses import Response

from app.answers import described, json_values, optional
from app.http.auth import BackendDependency
from app.http.openapi import api_router
from app.http.problems import NotReady, problem_response
from app.http.responses import answer_response
from models.errors import SpanseekError

router = api_router(prefix="/health", tags=["health"])


@dataclass(frozen=True, slots=True)
class Live:
    """The process runs and answers."""

    status: Literal["live"] = "live"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    ok: bool
    code: Annotated[str | None, optional("The error's code; absent if all is well.")] = None
    detail: Annotated[str | None, optional("The fault; absent if all is well.")] = None
    hint: Annotated[str | None, optional("The remedy; absent if all is well.")] = None

    @classmethod
    def of(cls, error: SpanseekError | None) -> "Check":
        """A check that failed with an error, or did not."""
        return cls(True) if error is None else cls(False, error.code, str(error), error.hint)


@dataclass(frozen=True, slots=True)
class ExecutorState:
    """The executor, which reads the segments of collections."""

    name: Annotated[str, described("The executor's name.")]
    ready: Annotated[bool, described("Whether segments can be read; `checks` says why not.")]
    segments: Annotated[int, described("The number of segments that it keeps in memory of its own, such as a GPU's.")]


@dataclass(frozen=True, slots=True)
class Ready:
    """The server can answer searches."""

    status: Literal["ready"]
    checks: Mapping[str, Check]
    damaged_segments: Annotated[int, described("Segments that are left out of searches. See spanseek verify.")]
    executor: ExecutorState


@router.get("/live", response_model=Live, summary="Is the process alive?")
async def live() -> Response:
    """Always 200: restart a process that does not answer."""
    return answer_response(Live())


@router.get("/ready", response_model=Ready, summary="Can it answer searches?")
async def ready(backend: BackendDependency) -> Response:
    """200 if the database and the encoder are available; else 503, and ``checks`` says which fails and why."""
    errors = await backend.readiness.checks()
    checks = {name: Check.of(error) for name, error in errors.items()}
    executor = backend.executor
    state = ExecutorState(executor.name, checks.get("executor", Check(False)).ok, executor.held_segments)
    answer = Ready("ready", checks, backend.damaged_segments(), state)
    if any(errors.values()):
        details = json_values(answer)
        return problem_response(_not_ready(errors), checks=details["checks"], executor=details["executor"])
    return answer_response(answer)


def _not_ready(errors: Mapping[str, SpanseekError | None]) -> NotReady:
    failed = {name: error for name, error in errors.items() if error is not None}
    return NotReady(
        " ".join(f"The {name} check fails: {error}" for name, error in failed.items()),
        hint=" ".join(error.hint for error in failed.values()),
    )
