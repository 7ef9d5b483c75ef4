"""Fair samples of what is too much to keep."""

import random
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def sample(items: Iterable[Item], most: int, rng: random.Random) -> list[Item]:
    """At most so many items, each as likely as any other, in one pass (reservoir sampling, Vitter's algorithm R).

    >>> len(sample(range(1000), 10, random.Random(1))), sample("ab", 10, random.Random(1))
    (10, ['a', 'b'])
    """
    kept: list[Item] = []
    for number, item in enumerate(items):
        if number < most:
            kept.append(item)
        elif (place := rng.randrange(number + 1)) < most:
            kept[place] = item
    return kept
