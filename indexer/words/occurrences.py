"""Literal occurrences: where the words of a query stand in their order."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from indexer import kernels
from indexer.segments.reader import Segment
from indexer.words.representation import stored_words

Spans = tuple[Int[np.ndarray, " spans"], Int[np.ndarray, " spans"]]


def occurrences(segment: Segment, terms: Sequence[str]) -> Spans:
    """First and last unit, exclusive, of all occurrences of folded words in a segment, by rising start.

    Between two words lies nothing but units that are no words, and all are in one part. Occurrences may overlap, and
    lie in deleted documents. There are none in a segment without words, and none of no words.
    """
    stored = stored_words(segment)
    numbers = [] if stored is None else [stored.number(term) for term in terms]
    if stored is None or not numbers or not all(numbers):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    places = [stored.units(number) for number in numbers]
    at = min(range(len(places)), key=lambda row: len(places[row]))
    rows = np.array(numbers, np.uint32)
    return kernels.occurrences(stored.of_units, segment.part_units, rows, at, places[at])
