"""Steps between checkpoints, and the longest runs of signs that belong together."""

from collections.abc import Callable, Iterator

import pytest

from models.backbones.query_network import in_parts
from models.interruption import checked, interruptible
from models.text import units

FLAGS = "\U0001f1e9" * 200_000


class Gone(Exception):
    """The caller has gone."""


def after(checkpoints: int) -> Callable[[], None]:
    """A check that ends the work at one of its checkpoints."""
    left = iter(range(checkpoints))

    def check() -> None:
        if next(left, None) is None:
            raise Gone

    return check


def test_a_text_of_flags_ends_at_a_checkpoint() -> None:
    with pytest.raises(Gone), interruptible(after(2)):
        units.split(FLAGS)
    assert len(units.split(FLAGS)) == len(FLAGS) // 2  # nobody ends it here


def test_windows_of_a_long_text_end_at_a_checkpoint() -> None:
    windows = [range(250)] * 400

    def read() -> list[int]:
        return in_parts(windows, lambda part: [len(window) for window in part])

    assert read() == [250] * 400
    with pytest.raises(Gone), interruptible(after(2)):
        read()


def test_steps_are_drawn_together_between_checkpoints() -> None:
    drawn: list[int] = []

    def steps() -> Iterator[int]:
        for step in range(10):
            drawn.append(step)
            yield step

    with pytest.raises(Gone), interruptible(after(2)):
        list(checked(steps(), every=3))
    assert drawn == [0, 1, 2, 3, 4, 5]
