"""A pool of encoder actors: every block is answered, in order, whatever becomes of actors and whoever is first."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import ExecutorUnavailable
from spanseek_ray.encoder_pool import TRIES, Block, EncoderPool
from spanseek_ray.settings import ClusterOptions
from tests.fake_encoders import FakeEncoders


class Echo:
    """A worker whose answer names its documents."""

    def steps(self, batches: Iterable[Sequence[Any]], name: str) -> list[Any]:
        return [document for batch in batches for document in batch]


def answered(fake: FakeEncoders, blocks: int, seen: list[int] | None = None) -> list[Any]:
    """What a pool answers to so many blocks; ``seen`` gets how many were read before each answer."""
    read = 0

    def source() -> Iterator[Block]:
        nonlocal read
        for number in range(blocks):
            read += 1
            yield Block([number], 1)

    answers = []
    with pytest.MonkeyPatch.context() as patches:
        fake.install(patches)
        with EncoderPool(Echo, ClusterOptions(), by_gpu=False) as pool:
            for block in pool.answered(source()):
                assert block.answer is not None
                assert block.name in pool.under_way
                answers += block.answer.steps
                if seen is not None:
                    seen.append(read)
            assert pool.under_way == []
    assert fake.alive == []
    return answers


@given(st.integers(1, 4), st.integers(0, 30), st.data())
def test_blocks_are_answered_in_order_whatever_dies(count: int, blocks: int, data: st.DataObject) -> None:
    deaths = iter(data.draw(st.lists(st.booleans(), max_size=TRIES - 2)))
    late = iter(data.draw(st.lists(st.integers(0, 10), max_size=60)))
    fake = FakeEncoders(
        count,
        fate=lambda: "dies when done" if next(deaths, False) else "returns",
        choose=lambda calls: next(late, 0) % calls,
    )
    assert answered(fake, blocks) == list(range(blocks))
    assert len(set(fake.names)) == len(fake.names)


@given(st.integers(1, 4), st.integers(20, 60))
def test_what_is_read_ahead_is_bounded(count: int, blocks: int) -> None:
    seen: list[int] = []
    answered(FakeEncoders(count), blocks, seen)
    assert all(read - published <= 4 * count for published, read in enumerate(seen))


def test_a_block_that_ends_every_actor_is_given_up() -> None:
    fake = FakeEncoders(2, fate=lambda: "dies")
    with pytest.raises(ExecutorUnavailable, match=f"1 documents ended {TRIES} encoder actors"):
        answered(fake, 3)


def test_actors_that_end_as_they_start_are_given_up() -> None:
    fake = FakeEncoders(2, starts=lambda: "dies")
    with pytest.raises(ExecutorUnavailable, match="10 encoder actors ended as they started"):
        answered(fake, 3)
    assert fake.names == []


def test_some_may_end_as_they_start() -> None:
    starts = iter(["dies"] * 7)
    fake = FakeEncoders(2, starts=lambda: next(starts, "returns"))
    assert answered(fake, 9) == list(range(9))


def test_no_actor_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoders(2)
    monkeypatch.setattr(fake, "first_done", lambda calls, seconds: [])
    with pytest.raises(ExecutorUnavailable, match="No encoder actor has started in 300 seconds"):
        answered(fake, 1)
