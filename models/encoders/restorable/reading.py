"""The input of the encoder: a row of tokens for each of its vectors."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import Ids
from models.ops.batching import padded

# Texts, and their tokens of the vocabulary, to the rows of every text.
Reader: TypeAlias = Callable[[Sequence[str], Sequence[Ids]], list[list[Ids]]]


def stretch_reader(shape: RestorableShape) -> Reader:
    """Reads stretches of the tokens that are restored.

    >>> import numpy as np
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
    """Rows of tokens as one array, and a mask that names the real ones; both on the device."""
    ids, mask = padded(rows)
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)
