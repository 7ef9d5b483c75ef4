"""Windows of long texts, batches of rows of similar length, to minimise padding, and the padding."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Int32, Int64


def length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Sort items by length and cut them into batches of at most ``batch_tokens`` tokens with padding.

    Yields the numbers of the items of every batch. An item longer than a batch is a batch by itself.

    >>> list(length_batches([3, 4, 2], 6))
    [[2, 0], [1]]
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > batch_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def padded(
    rows: Sequence[Int32[np.ndarray, " _ids"]],
) -> tuple[Int64[np.ndarray, "rows ids"], Bool[np.ndarray, "rows ids"]]:
    """Numbers as one batch, and the mask of real ones.

    >>> ids, mask = padded([np.array([5, 6], np.int32), np.array([7], np.int32)])
    >>> ids.tolist(), mask.tolist()
    ([[5, 6], [7, 0]], [[True, True], [True, False]])
    """
    lengths = np.array([len(row) for row in rows], np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate(rows)
    return ids, mask


def even_windows(ids: Int32[np.ndarray, " tokens"], window: int) -> list[Int32[np.ndarray, " _tokens"]]:
    """Cut tokens into as few windows as possible, of equal length or one token less, without overlap.

    >>> [part.tolist() for part in even_windows(np.arange(5, dtype=np.int32), 2)]
    [[0, 1], [2, 3], [4]]
    """
    return np.array_split(ids, max(1, -(-len(ids) // window)))
