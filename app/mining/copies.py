"""Near-copies among phrases: those of the same words, and those whose vectors are close."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from app.answers import described
from models.interruption import checked
from models.ops.similarity import raws
from models.types import QueryVectors

# Rows of the matrix of all cosines that are in memory at once.
_ROWS: Final = 512


@dataclass(frozen=True, slots=True)
class Copy:
    """A phrase that says nearly the same as one before it."""

    phrase: str
    copy_of: Annotated[str, described("The phrase before it that is nearest.")]
    raw: Annotated[float | None, described("Of the two texts; null in modes that compare no vectors.")]
    same_words: Annotated[bool, described("They differ in case, white space and punctuation alone.")]


def near_copies(
    names: Sequence[str], words: Sequence[tuple[str, ...]], vectors: QueryVectors | None, least: float
) -> Iterator[Copy]:
    """Every phrase with the nearest one before it, if that has its words or reaches the least ``raw``.

    >>> vectors = np.array([[1, 0], [0.6, 0.8], [1, 0], [0.64, 0.77]])
    >>> words = [("a",), ("b",), ("A",), ("c",)]
    >>> [(copy.phrase, copy.copy_of) for copy in near_copies("abcd", words, vectors, 0.98)]
    [('c', 'a'), ('d', 'b')]
    """
    nearest = _nearest(vectors) if vectors is not None else ((None, None) for _ in names)
    first: dict[tuple[str, ...], int] = {}
    for number, (at, raw) in enumerate(nearest):
        same = first.setdefault(words[number], number) if words[number] else number
        if same != number:
            yield Copy(names[number], names[same], None if raw is None else 1.0, same_words=True)
        elif at is not None and raw is not None and raw >= least:
            yield Copy(names[number], names[at], raw, same_words=False)


def _nearest(vectors: QueryVectors) -> Iterator[tuple[int | None, float | None]]:
    """For every vector the number of the nearest one before it, and the ``raw`` of both; the first has none."""
    yield None, None
    for begin in checked(range(0, len(vectors), _ROWS)):
        end = min(begin + _ROWS, len(vectors))
        cosines = vectors[begin:end] @ vectors[:end].T
        cosines[np.triu_indices(end - begin, begin, end)] = -np.inf
        best = cosines.argmax(axis=1)
        scores = raws(cosines[np.arange(end - begin), best].astype(np.float64))
        yield from list(zip(best.tolist(), scores.tolist(), strict=True))[begin == 0 :]
