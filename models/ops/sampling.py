"""Uniform samples of streams."""

import random
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def sample(items: Iterable[Item], most: int, rng: random.Random) -> list[Item]:
    """A uniform sample of at most ``most`` items in one pass (reservoir sampling, Vitter's algorithm R).

    >>> len(sample(range(1000), 10, random.Random(1))), sample("ab", 10, random.Random(1))
    (10, ['a', 'b'])
    """
    reservoir: list[Item] = []
    for number, item in enumerate(items):
        if number < most:
            reservoir.append(item)
        elif (place := rng.randrange(number + 1)) < most:
            reservoir[place] = item
    return reservoir
