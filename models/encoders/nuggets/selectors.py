"""The choice of a window's nuggets by the scorer of the weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int, Int32

from models.ops.nuggets import count, top_apart

# Maps the number of a window in its batch and its scores to the positions of its nuggets.
Selector: TypeAlias = Callable[[int, Float[np.ndarray, " tokens"]], Int[np.ndarray, " nuggets"]]
Window: TypeAlias = Int32[np.ndarray, " tokens"]
Choose: TypeAlias = Callable[[Window, Float[np.ndarray, " tokens"], float], Int[np.ndarray, " nuggets"]]

LEARNED = "learned"


@dataclass(frozen=True, slots=True)
class Selectors:
    """A way to choose nuggets from a window's tokens, their scores and the ratio."""

    choose: Choose
    name: str = LEARNED

    @classmethod
    def learned(cls, spacing: float = 0.0) -> "Selectors":
        """The best scores, at least ``spacing`` times their mean distance apart, which is one over the ratio."""

        def choose(window: Window, scores: Float[np.ndarray, " tokens"], ratio: float) -> Int[np.ndarray, " nuggets"]:
            number = count(len(window), ratio)
            return top_apart(scores, number, round(spacing * len(window) / max(1, number)))

        return cls(choose)

    def of(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> Selector:
        """The selector for one batch of windows."""
        return lambda row, scores: self.choose(batch[row], scores, ratio)
