"""The input of the encoder: a row of tokens for each of its vectors."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import Ids

# Texts, and their tokens of the vocabulary, to the rows of every text.
Reader: TypeAlias = Callable[[Sequence[str], Sequence[Ids]], list[list[Ids]]]


def stretch_reader(shape: RestorableShape) -> Reader:
    """Reads stretches of the tokens that are restored.

    >>> read = stretch_reader(RestorableShape(stretch=2))
    >>> [row.tolist() for row in read(["a b"], [np.array([5, 6, 0], np.int32)])[0]]
    [[5, 6], [0]]
    """
    step = shape.stretch
    return lambda texts, ids: [[row[start : start + step] for start in range(0, len(row), step)] for row in ids]


def group(
    vectors: Float[Tensor, "rows dim"], counts: Sequence[int]
) -> tuple[Float[Tensor, "texts vectors dim"], Bool[Tensor, "texts vectors"]]:
    """The vectors of rows by texts, ``counts`` for each, padded with zeros; and which of them are real."""
    real = torch.arange(max(counts), device=vectors.device)[None] < torch.tensor(counts, device=vectors.device)[:, None]
    padded = vectors.new_zeros(*real.shape, vectors.shape[1])
    padded[real] = vectors
    return padded, real


def pad(rows: Sequence[Ids], device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Rows of tokens as one array, and a mask that names the real ones; both on the device.

    >>> ids, mask = pad([np.array([5, 6], np.int32), np.array([7], np.int32)])
    >>> ids.tolist(), mask.tolist()
    ([[5, 6], [7, 0]], [[True, True], [True, False]])
    """
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    mask = np.zeros(ids.shape, bool)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = True
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)
