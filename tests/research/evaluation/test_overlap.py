"""Agreement of spans against sets of units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.types import UnitSpan
from research.evaluation.scoring import at_same_place, is_right, overlap_f1, shared_units

SPANS = st.tuples(st.integers(0, 12), st.integers(1, 12)).map(lambda pair: UnitSpan(pair[0], pair[0] + pair[1]))


def units_of(span: UnitSpan) -> set[int]:
    return set(range(span.start, span.end))


@given(SPANS, SPANS)
def test_rules_are_those_of_sets(found: UnitSpan, gold: UnitSpan) -> None:
    one, other = units_of(found), units_of(gold)
    both = one & other
    precision, recall = len(both) / len(one), len(both) / len(other)
    assert shared_units(found, gold) == len(both)
    assert is_right(found, gold) == (recall >= 0.5 and len(one) <= 2 * len(other))
    assert at_same_place(found, gold) == (max(precision, recall) >= 0.5)
    assert overlap_f1(found, gold) == pytest.approx(2 * precision * recall / (precision + recall) if both else 0)


@given(SPANS, SPANS)
def test_what_is_right_is_at_the_same_place(found: UnitSpan, gold: UnitSpan) -> None:
    assert at_same_place(found, gold) or not is_right(found, gold)
    assert at_same_place(gold, found) == at_same_place(found, gold)


@pytest.mark.parametrize(
    ("found", "gold", "right"),
    [
        ((2, 4), (2, 4), True),
        ((2, 3), (2, 4), True),  # half of the gold
        ((2, 3), (2, 5), False),  # a third of the gold
        ((2, 4), (2, 5), True),  # two thirds of the gold
        ((0, 4), (2, 4), True),  # twice as long
        ((0, 5), (2, 4), False),  # more than twice as long
        ((3, 7), (2, 4), True),  # half of the gold, and twice as long
        ((4, 6), (2, 4), False),  # beside the gold
    ],
)
def test_a_hit_is_right_when_it_covers_half_with_at_most_twice_as_much(
    found: tuple[int, int], gold: tuple[int, int], right: bool
) -> None:
    assert is_right(UnitSpan(*found), UnitSpan(*gold)) == right
