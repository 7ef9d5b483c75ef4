"""The disk is full, or fails, at any write: the right error, reads go on, and the store recovers without a hand."""

import errno
import random
from typing import Any

import pytest

from indexer.disk import named_error
from models.errors import SpanseekError
from tests.faults.faulty_disk import FaultyDisk
from tests.faults.operations import OPERATIONS, chosen
from tests.faults.places import ON_SQLITE, ROUNDS
from tests.faults.surviving import assert_kept, assert_recovers, prepared, states

_SHORT = 2
# The codes that a full or a failing disk gives a caller.
_CODES = {errno.ENOSPC: {"storage_full"}, errno.EIO: {"storage_failed", "storage_full", "catalog_unavailable"}}


@pytest.mark.timeout(7200)
@ON_SQLITE
@pytest.mark.parametrize("error", _CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", chosen("ingestion"))
def test_every_write_fails_once(name: str, error: int, copies: Any) -> None:
    copy = copies(prepared(name))
    expected = states(copy, name)
    with copy() as place, place.services() as services, FaultyDisk(place.folder).installed() as whole:
        OPERATIONS[name].run(services)
    numbers = range(1, whole.count + 1)
    for number in numbers if ROUNDS else random.Random(f"{name}{error}").sample(numbers, min(_SHORT, len(numbers))):
        with copy() as place, place.services() as services:
            _fail(name, services, FaultyDisk(place.folder, number, error), expected)


def _fail(name: str, services: Any, disk: FaultyDisk, expected: Any) -> None:
    done = 0

    def count(number: int) -> None:
        nonlocal done
        done = number

    raised: BaseException | None = None
    with disk.installed():
        try:
            OPERATIONS[name].run(services, count)
        except (SpanseekError, OSError) as error:
            raised = error
    where = f"{name} could not {disk.failed}, and raised {raised!r}"
    if raised is not None:  # not where maintenance behind a write is left to the next writer
        named = named_error(raised)
        assert named is not None, where
        assert named.code in _CODES[disk.error], where
    assert_kept(services, expected, done, where)
    assert_recovers(services, name, expected, where)
