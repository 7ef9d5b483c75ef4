"""Values that several threads ask for at once: one reads a key, nobody gets what was forgotten, others do not wait."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from indexer.freshness import FreshValues


class Source:
    """Numbers that grow with every read; those of the key ``slow`` wait until they are let go."""

    def __init__(self) -> None:
        self.reads, self.begun, self.go = 0, Event(), Event()

    def __call__(self, key: str, before: int | None) -> int:
        self.reads += 1
        read = self.reads
        if key == "slow":
            self.begun.set()
            assert self.go.wait(60)
        return read


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_one_thread_reads_and_others_have_what_it_reads(threads: ThreadPoolExecutor) -> None:
    source = Source()
    values = FreshValues(source, clock=lambda: 0.0)
    asked = [threads.submit(values.get, "slow") for _ in range(6)]
    assert source.begun.wait(60)
    assert values.get("quick") == 2, "another key does not wait"
    source.go.set()
    assert [each.result(60) for each in asked] == [1] * 6
    assert source.reads == 2


def test_what_is_read_while_it_is_forgotten_is_not_kept(threads: ThreadPoolExecutor) -> None:
    source = Source()
    values = FreshValues(source, clock=lambda: 0.0)
    first = threads.submit(values.get, "slow")
    assert source.begun.wait(60)
    values.forget("slow")
    source.go.set()
    assert first.result(60) == 1
    assert values.get("slow") == 2


def test_a_renewed_value_was_read_after_it_was_asked_for(threads: ThreadPoolExecutor) -> None:
    source = Source()
    values = FreshValues(source, clock=lambda: 0.0)
    first = threads.submit(values.get, "slow")
    assert source.begun.wait(60)
    second = threads.submit(values.renew, "slow")
    source.go.set()
    assert (first.result(60), second.result(60), values.get("slow")) == (1, 2, 2)


def test_a_key_that_cannot_be_read_is_asked_for_again() -> None:
    failures = iter([True, False])

    def read(key: str, before: str | None) -> str:
        if next(failures):
            raise ValueError("not now")
        return key

    values = FreshValues(read, clock=lambda: 0.0)
    with pytest.raises(ValueError, match="not now"):
        values.get("a")
    assert values.get("a") == "a"
    assert values.cached() == ("a",)
