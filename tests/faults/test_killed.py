"""A process that is killed at any moment: what was promised is there, once, and the next job leaves no orphans."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.crashing import KillAt, Victim
from tests.faults.operations import OPERATIONS, chosen
from tests.faults.places import ROUNDS
from tests.faults.surviving import assert_kept, assert_recovers, prepared, states

# Kills of an operation: in the short form; and at random moments in one round of the long form, which kills at every
# failpoint as well.
_SHORT = 2
_AT_RANDOM = 20


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", chosen("ingestion", "reindex", "upload"))
def test_killed_at_failpoints(name: str, copies: Any, tmp_path: Path) -> None:
    copy = copies(prepared(name))
    expected = states(copy, name)
    with copy() as place:
        moments = Victim(place, name, tmp_path / "notes").end().moments
    assert moments
    numbers = range(1, len(moments) + 1)
    chosen = numbers if ROUNDS else random.Random(name).sample(numbers, min(_SHORT, len(numbers)))
    for number in chosen:
        with copy() as place:
            reached = Victim(place, name, tmp_path / "notes", KillAt(number)).end()
            assert len(reached.moments) == number
            where = f"{name} was killed at its failpoint {number}, {reached.moments[-1]}"
            with place.services() as services:
                assert_kept(services, expected, reached.done, where)
                assert_recovers(services, name, expected, where)


@pytest.mark.slow("kills processes at random")
@pytest.mark.skipif(not ROUNDS, reason="the long form alone")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_random(name: str, copies: Any, tmp_path: Path) -> None:
    copy, moments = copies(prepared(name)), random.Random(name)
    expected = states(copy, name)
    started = time.perf_counter()
    with copy() as place:
        Victim(place, name, tmp_path / "notes").end()
    longest = time.perf_counter() - started
    for _ in range(_AT_RANDOM * ROUNDS):
        with copy() as place:
            reached = Victim(place, name, tmp_path / "notes").end(moments.uniform(0, longest))
            where = f"{name} was killed behind {reached.moments[-1:]}"
            with place.services() as services:
                assert_kept(services, expected, reached.done, where)
                assert_recovers(services, name, expected, where)
