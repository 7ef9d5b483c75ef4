"""Loops over the words of units: their inverted index, and the occurrences of several words in their order."""

import numpy as np
from jaxtyping import Int, UInt32
from numba import njit


@njit(nogil=True, cache=True)
def _group_units(of_units, next_rows, units):  # type: ignore[no-untyped-def]
    for unit in range(len(of_units)):
        term = of_units[unit]
        if term > 0:
            units[next_rows[term - 1]] = unit
            next_rows[term - 1] += 1


def group_units(
    of_units: UInt32[np.ndarray, " units"], next_rows: Int[np.ndarray, " terms"], units: UInt32[np.ndarray, " words"]
) -> None:
    """Write the units of every term, rising, to ``units``, those of a term from its row of ``next_rows`` on.

    Terms are numbered from 1; a unit of term 0 is left out.
    """
    _group_units(of_units, next_rows, units)


@njit(nogil=True, cache=True)
def _part_of(part_units, unit):  # type: ignore[no-untyped-def]
    low, high = 0, len(part_units)
    while low < high:
        middle = (low + high) // 2
        if part_units[middle] <= unit:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def _occurrences(of_units, part_units, terms, at, places, starts, ends):  # type: ignore[no-untyped-def]
    count = 0
    for place in places:
        first, last, matches = np.int64(place), np.int64(place), True
        for number in range(at - 1, -1, -1):
            first -= 1
            while first >= 0 and of_units[first] == 0:
                first -= 1
            if first < 0 or of_units[first] != terms[number]:
                matches = False
                break
        if not matches:
            continue
        for number in range(at + 1, len(terms)):
            last += 1
            while last < len(of_units) and of_units[last] == 0:
                last += 1
            if last >= len(of_units) or of_units[last] != terms[number]:
                matches = False
                break
        if matches and _part_of(part_units, first) == _part_of(part_units, last):
            starts[count], ends[count] = first, last + 1
            count += 1
    return count


def occurrences(
    of_units: UInt32[np.ndarray, " units"],
    part_units: Int[np.ndarray, " parts_and_one"],
    terms: UInt32[np.ndarray, " words"],
    at: int,
    places: UInt32[np.ndarray, " places"],
) -> tuple[Int[np.ndarray, " spans"], Int[np.ndarray, " spans"]]:
    """First and last unit, exclusive, of the occurrences of all terms in their order, by rising start.

    ``places`` are the units of the term in row ``at``. Units of term 0 may lie between two terms; no part border may.
    """
    starts, ends = np.empty((2, len(places)), np.int64)
    count = _occurrences(of_units, part_units, terms, at, places, starts, ends)
    return starts[:count], ends[:count]
