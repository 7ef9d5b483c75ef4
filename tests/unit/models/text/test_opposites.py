"""Words that exclude each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.opposites import SETS, Opposites, opposites
from models.text.stemming import stems

WORDS = st.sampled_from([word for sides in SETS for side in sides for word in side])


def test_no_word_is_on_two_sides_of_a_set() -> None:
    for sides in SETS:
        on_sides = [set(stems(side, "english")) for side in sides]
        assert len(sides) > 1
        assert sum(map(len, on_sides)) == len(set.union(*on_sides)), sides


@given(WORDS, WORDS)
def test_words_exclude_each_other_both_ways(left: str, right: str) -> None:
    found = opposites(left, right)
    assert [(text, phrase) for phrase, text in found] == [tuple(pair) for pair in opposites(right, left)]
    assert bool(found) <= (left != right)


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
        ("the price went up", "Prices are going down.", [("up", "down")]),
        ("it opens early", "They opened late.", [("early", "late")]),
        ("lunch is included", "Dinner and breakfast are included.", [("lunch", "dinner"), ("lunch", "breakfast")]),
        ("a cheap hotel", "An expensive hotel beside a cheap one.", []),
        ("a cheap hotel", "A hotel that is not expensive.", []),
        ("not a cheap hotel", "An expensive hotel.", []),
        ("a table for two", "A cheap hotel.", []),
        ("un hôtel cher", "expensive", []),
        ("", "", []),
    ],
)
def test_examples(phrase: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(opposites(phrase, text)) == sorted(Opposites(*pair) for pair in expected)
