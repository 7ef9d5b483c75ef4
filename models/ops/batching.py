"""Batches of texts of similar length, to minimise padding."""

from collections.abc import Iterator, Sequence


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
