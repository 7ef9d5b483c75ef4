"""The table of kinds of tasks, and the types that clients see."""

from typing import get_args

from app.tasks import kinds
from app.tasks.answers import KindName
from app.tasks.kinds import kind_named


def test_every_kind_that_clients_see_can_run() -> None:
    names = get_args(KindName)
    assert set(kinds.KINDS) <= set(names)
    assert [kind_named(name).name for name in names] == list(names)
    assert all(kind_named(name).run is not kinds._missing for name in names)
