"""Batches of texts of about equal length, so that little of a forward pass is padding."""

from collections.abc import Iterator, Sequence


def length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Sort items by length and cut them into batches of at most ``batch_tokens`` tokens with padding.

    Yields the numbers of the items of every batch. An item that is longer than a batch has one of its own.

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
