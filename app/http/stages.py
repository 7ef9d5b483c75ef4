"""The times of a request's stages, as its lanes observe them."""

from collections.abc import Callable
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["queue", "encode", "scan", "verify", "fetch", "write"]
# Called with a stage and its seconds as it ends, by any thread, in the context of the request.
Observe: TypeAlias = Callable[[Stage, float], None]


def unobserved(stage: Stage, seconds: float) -> None:
    """Discard an observation."""
