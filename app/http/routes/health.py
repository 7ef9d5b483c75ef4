"""``/health``: liveness and readiness checks. They need no key and reveal no texts."""

from collections.abc import Mapping
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.http.auth import BackendDependency
from app.http.openapi import problems
from app.http.problems import NotReady, problem_response
from app.http.responses import json_response
from models.errors import SpanseekError

router = APIRouter(prefix="/health", tags=["health"])


class LiveBody(BaseModel):
    """The process runs and answers."""

    status: Literal["live"] = "live"


class CheckBody(BaseModel):
    """The result of one check."""

    ok: bool
    code: str | None = Field(None, description="The error's code; absent if all is well.")
    detail: str | None = Field(None, description="What is wrong; absent if all is well.")
    hint: str | None = Field(None, description="What to do about it; absent if all is well.")


class ReadyBody(BaseModel):
    """The server can answer searches."""

    status: Literal["ready"]
    checks: dict[str, CheckBody]


@router.get("/live", summary="Is the process alive?")
async def live() -> LiveBody:
    """Always 200: restart a process that does not answer."""
    return LiveBody()


@router.get(
    "/ready",
    response_model=ReadyBody,
    response_model_exclude_none=True,
    summary="Can it answer searches?",
    responses=problems(503),
)
async def ready(backend: BackendDependency) -> Response:
    """200 if the database and the encoder are available; else 503, and ``checks`` says which fails and why."""
    errors = await backend.readiness.checks()
    checks = {name: _check(error) for name, error in errors.items()}
    if any(errors.values()):
        return problem_response(_not_ready(errors), checks=checks)
    return json_response({"status": "ready", "checks": checks})


def _check(error: SpanseekError | None) -> dict[str, object]:
    if error is None:
        return {"ok": True}
    return {"ok": False, "code": error.code, "detail": str(error), "hint": error.hint}


def _not_ready(errors: Mapping[str, SpanseekError | None]) -> NotReady:
    failed = {name: error for name, error in errors.items() if error is not None}
    return NotReady(
        " ".join(f"The {name} check fails: {error}" for name, error in failed.items()),
        hint=" ".join(error.hint for error in failed.values()),
    )
