"""A process that reads segments for an executor, as an operator sees it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """A process that reads segments for an executor: what it was last seen to be and to have.

    ``seconds`` is the median time of its recent answers, ``idle_s`` the time since any server asked it last.
    """

    name: str
    node: str
    state: str
    segments: int = 0
    units: int = 0
    waiting: int = 0
    answered: int = 0
    hedged: int = 0
    failed: int = 0
    seconds: float = 0.0
    idle_s: float | None = None
