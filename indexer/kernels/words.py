"""Loops over the words of units: their inverted index, and the occurrences of several words in their order."""

import numpy as np
from jaxtyping import Float64, Int, Int64, Integer, UInt32
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
    """Write the units of every term, rising, to ``units``; a term begins at its row of ``next_rows``.

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


@njit(nogil=True, cache=True)
def _whole_of(bounds, low, unit):  # type: ignore[no-untyped-def]
    """The whole span that a unit lies in, which is ``low`` or a later one; the steps double until it is passed."""
    step = 1
    while low + step < len(bounds) and bounds[low + step] <= unit:
        low += step
        step *= 2
    high = min(low + step, len(bounds))
    while high - low > 1:
        middle = (low + high) // 2
        if bounds[middle] <= unit:
            low = middle
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def _whole_spans_with(bounds, units):  # type: ignore[no-untyped-def]
    count, whole = 0, 0
    end = -1
    for place in units:
        unit = np.int64(place)
        if unit >= end:
            whole = _whole_of(bounds, whole, unit)
            end = bounds[whole + 1]
            count += 1
    return count


def whole_spans_with(bounds: Int[np.ndarray, " whole_spans_and_one"], units: Integer[np.ndarray, " units"]) -> int:
    """Count the whole spans that hold at least one of the ascending units. One ends where the next begins."""
    return int(_whole_spans_with(bounds, units)) if len(units) else 0


@njit(nogil=True, cache=True)
def _add_bm25(bounds, norms, units, weight, most, k1, scores, matches):  # type: ignore[no-untyped-def]
    row, whole = 0, 0
    while row < len(units):
        whole = _whole_of(bounds, whole, np.int64(units[row]))
        end = bounds[whole + 1]
        count = 0
        while row < len(units) and np.int64(units[row]) < end:
            count += 1
            row += 1
        count = min(count, most)
        scores[whole] += weight * count * (k1 + 1) / (count + norms[whole])
        matches[whole] += 1


def add_bm25(
    bounds: Int[np.ndarray, " whole_spans_and_one"],
    norms: Float64[np.ndarray, " whole_spans"],
    units: Integer[np.ndarray, " units"],
    weight: float,
    most: int,
    k1: float,
    scores: Float64[np.ndarray, " whole_spans"],
    matches: Int64[np.ndarray, " whole_spans"],
) -> None:
    """Add one word's term of BM25 to the scores of the whole spans that hold its rising units, and 1 to their matches.

    A whole span that holds it ``count`` times, of which ``most`` count, gets ``weight * count * (k1 + 1) / (count +
    norm)``.
    """
    _add_bm25(bounds, norms, units, weight, most, k1, scores, matches)


@njit(nogil=True, cache=True)
def _best_windows(of_units, weights, longest, starts, ends):  # type: ignore[no-untyped-def]
    for row in range(len(starts)):
        start, end = starts[row], ends[row]
        if end - start <= longest:
            continue
        total = 0.0
        for unit in range(start, start + longest):
            total += weights[of_units[unit]]
        best, first = total, start
        for begin in range(start + 1, end - longest + 1):
            total += weights[of_units[begin + longest - 1]] - weights[of_units[begin - 1]]
            if total > best + 1e-9:
                best, first = total, begin
        left, right = first, first + longest - 1
        while left < right and weights[of_units[left]] == 0:
            left += 1
        while right > left and weights[of_units[right]] == 0:
            right -= 1
        begin = max(start, min(left - (longest - (right + 1 - left)) // 2, end - longest))
        starts[row], ends[row] = begin, begin + longest


def best_windows(
    of_units: UInt32[np.ndarray, " units"],
    weights: Float64[np.ndarray, " terms_and_one"],
    longest: int,
    starts: Int64[np.ndarray, " spans"],
    ends: Int64[np.ndarray, " spans"],
) -> None:
    """Shorten spans of more than ``longest`` units, in place, to windows around the words that weigh most together.

    These words are in the middle of the window if there is room.
    """
    _best_windows(of_units, weights, longest, starts, ends)
