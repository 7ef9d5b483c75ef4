"""Work that others end: every long loop over a text stops at its next checkpoint."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from models.interruption import checked, checkpoint, interruptible, uninterrupted
from models.text import units
from models.text.borders import border_codes
from models.text.folding import folded_units

WORDS = "cancel my plan. " * 100_000
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


@pytest.mark.parametrize(
    "work",
    [
        lambda: units.split(WORDS),
        lambda: units.split(FLAGS),
        lambda: border_codes(WORDS, np.arange(40).reshape(-1, 2)),
        lambda: folded_units(WORDS, np.tile(np.array([[0, 6]]), (100_000, 1))),
    ],
)
def test_work_on_one_text_ends_at_a_checkpoint(work: Callable[[], object]) -> None:
    with pytest.raises(Gone), interruptible(after(2)):
        work()
    work()  # nobody ends it here


def test_steps_are_drawn_together_between_checkpoints() -> None:
    drawn: list[int] = []

    def steps() -> Iterator[int]:
        for step in range(10):
            drawn.append(step)
            yield step

    with pytest.raises(Gone), interruptible(after(2)):
        list(checked(steps(), every=3))
    assert drawn == [0, 1, 2, 3, 4, 5]


def test_what_is_begun_can_be_completed() -> None:
    with interruptible(after(0)):
        with uninterrupted():
            checkpoint()
        with pytest.raises(Gone):
            checkpoint()
    checkpoint()
