"""Words that exclude each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.verifier.rules.opposites import SETS, Opposites, opposites

WORDS = st.sampled_from([word for sides in SETS for side in sides for word in side])
# Frequent words that are near listed ones.
COMMON = [
    *("will", "cost", "costs", "likely", "inform", "information", "option", "options", "requirement", "department"),
    *("validation", "use", "using", "used", "busy", "bill", "severely", "identity", "digits", "digital", "activity"),
    *("lasts", "kind", "kinds", "major", "publication", "support", "passing", "fix", "fixed", "good", "great", "new"),
    *("old", "first", "last", "like", "up", "down", "more", "less", "most", "least", "right", "left", "close", "light"),
    *("clear", "even", "same", "present", "found", "lost", "end", "hard", "full", "free", "paid"),
]


def test_no_word_is_on_two_sides_of_a_set() -> None:
    for sides in SETS:
        words = [word for side in sides for word in side]
        assert len(sides) > 1
        assert len(words) == len(set(words)), sides


@pytest.mark.parametrize("word", COMMON)
def test_words_of_many_uses_have_no_opposite(word: str) -> None:
    everything = " ".join(word for sides in SETS for side in sides for word in side)
    assert opposites(word, everything) == ()


@given(WORDS, WORDS)
def test_words_exclude_each_other_both_ways(left: str, right: str) -> None:
    found = opposites(left, right)
    assert {(text, phrase) for phrase, text in found} == {tuple(pair) for pair in opposites(right, left)}
    assert bool(found) <= (left != right)


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
        ("the price increases", "Prices are decreasing.", [("increases", "decreasing")]),
        ("it opens early", "They opened late.", [("early", "late")]),
        ("lunch is included", "Dinner and breakfast are included.", [("lunch", "breakfast"), ("lunch", "dinner")]),
        ("unable to log in", "I am able to log in.", [("unable", "able")]),
        ("he refused to pay", "He agreed to pay.", [("refused", "agreed")]),
        ("unable to log in", "I am not able to log in.", []),
        ("refuses to give a refund", "They do not agree to give a refund.", []),
        ("a cheap hotel", "An expensive hotel beside a cheap one.", []),
        ("a cheap hotel", "A hotel that is not expensive.", []),
        ("the line is slow", "It is no longer fast.", []),
        ("payment is optional", "Nobody said that payment is mandatory.", []),
        ("not a cheap hotel", "An expensive hotel.", []),
        ("the cheapest room", "The least expensive room.", []),
        ("a cheaper room", "A room that is LESS expensive.", []),
        ("less expensive", "cheaper", []),
        ("they are polite", "He was anything but rude.", []),
        ("they are polite", "He was far from friendly.", []),
        ("they are rude", "He was far from friendly.", []),
        ("they are polite", "He was far from  rude.", []),
        ("a less cheap room", "This room is less expensive.", [("cheap", "expensive")]),
        ("it costs less, is cheap", "It is less, expensive too.", [("cheap", "expensive")]),
        ("a cheap room", "The room is not less expensive.", [("cheap", "expensive")]),
        ("a cheap room", "It is at least expensive.", [("cheap", "expensive")]),
        ("a cheap room", "It is more or less expensive.", [("cheap", "expensive")]),
        ("it arrives today", "It arrived yesterday.", [("today", "yesterday")]),
        ("it arrives tomorrow", "It is here today.", [("tomorrow", "today")]),
        ("I called today", "I called yesterday and today.", []),
        ("my older sister", "My younger sister.", [("older", "younger")]),
        ("when it opens", "It closes at five.", [("opens", "closes")]),
        ("when it opens", "It opens at nine and closes at five.", []),
        ("opening an account", "He is closing an account.", [("opening", "closing")]),
        ("opening hours", "The shop is close to us, and closed now.", []),
        ("good morning", "Good evening.", []),
        ("a table for two", "A cheap hotel.", []),
        ("a cheap plan", "What does the plan cost? Only two pounds.", []),
        ("the customer bought a phone", "The shop sold me a phone.", []),
        ("un hôtel cher", "expensive", []),
        ("", "", []),
    ],
)
def test_examples(phrase: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(opposites(phrase, text)) == sorted(Opposites(*pair) for pair in expected)


def test_opposites_are_looked_for_in_a_part_of_a_text_and_denials_in_all_of_it() -> None:
    text = "It is not an expensive hotel, and the rooms are small."
    of_hotel = text.index("an expensive"), text.index(", and")
    assert opposites("a cheap hotel with large rooms", text, *of_hotel) == ()
    assert opposites("a cheap hotel with large rooms", text) == (Opposites("large", "small"),)
