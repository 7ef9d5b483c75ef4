"""Texts cut into segments of equal length: what a language model reads, and what stands behind it (section 6.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Int, Int32

from models.tokens import Tokens

Window = Int32[np.ndarray, " _tokens"]


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of texts, in order; ``first`` is the number of the first segment of the same text.

    ``unknown`` is the id of the tokens that stand for words which the vocabulary does not have.
    """

    windows: Sequence[Window]
    first: Int[np.ndarray, " segments"]
    unknown: int

    def __len__(self) -> int:
        return len(self.windows)

    def before(self, segment: int, history: int) -> range:
        """The segments of the same text before one of them: at most so many, the nearest last.

        >>> segments = cut_segments([Tokens(np.arange(6, dtype=np.int32), None, None)], 2, -1)
        >>> segments.before(2, 1), segments.before(2, 8), segments.before(2, 0)
        (range(1, 2), range(0, 2), range(2, 2))
        """
        return range(max(int(self.first[segment]), segment - history), segment)


def cut_segments(
    texts: Iterable[Tokens], length: int, unknown: int, most: int | None = None, of_text: int | None = None
) -> Segments:
    """Cut every text into segments of so many tokens; the last one of a text has what is left.

    With ``most`` it ends with the text that brings that many; of a text at most the first ``of_text`` are taken.

    >>> tokens = [Tokens(np.arange(n, dtype=np.int32), None, None) for n in (5, 2, 3)]
    >>> segments = cut_segments(tokens, 2, -1, most=4)
    >>> [window.tolist() for window in segments.windows], segments.first.tolist()
    ([[0, 1], [2, 3], [4], [0, 1]], [0, 0, 0, 3])
    """
    windows: list[Window] = []
    counts: list[int] = []
    for tokens in texts:
        if most is not None and len(windows) >= most:
            break
        found = [tokens.ids[start : start + length] for start in range(0, len(tokens.ids), length)][:of_text]
        windows += found
        counts.append(len(found))
    begins = [0, *accumulate(counts)][: len(counts)]
    return Segments(windows, np.repeat(np.array(begins, np.int64), counts), unknown)
