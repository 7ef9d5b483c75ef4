"""The table of kinds of tasks, and the types that clients see."""

from typing import get_args

from app.tasks.answers import KindName
from app.tasks.kinds import KINDS


def test_every_kind_that_clients_see_can_run() -> None:
    assert tuple(KINDS) == get_args(KindName)
