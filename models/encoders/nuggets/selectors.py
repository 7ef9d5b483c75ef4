"""Selectors of a window's nuggets: the scorer, or the rules of section 7.1, which are its baselines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Int32

from models.backbones.files import BackboneFiles
from models.errors import InvalidInput
from models.ops.nuggets import chunk_ends, count, sentence_ends, top_apart

PUNCTUATION = (",", ".", ";", ":", "!", "?")
STOPS = (".", "!", "?")

# Maps the number of a window in its batch and its scores to the positions of its nuggets.
Selector = Callable[[int, Float[np.ndarray, " tokens"]], Int[np.ndarray, " nuggets"]]
Window = Int32[np.ndarray, " tokens"]
Choose = Callable[[Window, Float[np.ndarray, " tokens"], float], Int[np.ndarray, " nuggets"]]


@dataclass(frozen=True, slots=True)
class Selectors:
    """The selectors by name, for one backbone's tokens."""

    choose: Choose

    @classmethod
    def named(cls, name: str, backbone: BackboneFiles, spacing: float = 0.0) -> "Selectors":
        """``learned``, ``chunk`` or ``sentence_boundary``; the last one ignores the ratio.

        Learned nuggets are at least ``spacing`` times their mean distance apart, which is one over the ratio.
        """
        if name not in SELECTORS:
            raise InvalidInput(
                f"There is no selector {name!r}.", hint=f"Selectors are: {', '.join(SELECTORS)}.", field="selector"
            )
        return cls(SELECTORS[name](backbone, spacing))

    def of(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> Selector:
        """The selector for one batch of windows."""

        def select(row: int, scores: Float[np.ndarray, " tokens"]) -> Int[np.ndarray, " nuggets"]:
            return self.choose(batch[row], scores, ratio)

        return select


def _learned(_: BackboneFiles, spacing: float) -> Choose:
    def choose(window: Window, scores: Float[np.ndarray, " tokens"], ratio: float) -> Int[np.ndarray, " nuggets"]:
        number = count(len(window), ratio)
        return top_apart(scores, number, round(spacing * len(window) / max(1, number)))

    return choose


def _chunk(backbone: BackboneFiles, _: float) -> Choose:
    marks = backbone.ids_of(PUNCTUATION)
    return lambda window, _, ratio: chunk_ends(np.isin(window, marks), count(len(window), ratio))


def _sentence_boundary(backbone: BackboneFiles, _: float) -> Choose:
    marks = backbone.ids_of(STOPS)
    return lambda window, scores, ratio: sentence_ends(np.isin(window, marks))


SELECTORS: dict[str, Callable[[BackboneFiles, float], Choose]] = {
    "learned": _learned,
    "chunk": _chunk,
    "sentence_boundary": _sentence_boundary,
}
