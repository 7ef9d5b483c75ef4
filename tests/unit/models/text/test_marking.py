"""What is marked of a span: never nothing, never beyond its clause, and without words that say nothing at its ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.borders import border_codes, end_strengths, start_strengths
from models.text.marking import MOST_BEFORE, MOST_BEHIND, UnitsAround
from models.text.units import split

WORDS = ["and", "but", "the", "cat", "sat", "on", "mat", "to", ",", ".", "(", ")", "plan"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=24).map(" ".join)


def around(text: str) -> UnitsAround:
    units = split(text)
    codes = border_codes(text, units)
    ends = [*(end_strengths(codes) > 0).tolist(), True]
    return UnitsAround([text[a:b] for a, b in units.tolist()], (start_strengths(codes) > 0).tolist(), ends)


@pytest.mark.parametrize(
    ("text", "found", "marked"),
    [
        ("Please cancel my order today.", "Please cancel my", "Please cancel my order today"),
        (
            "He is kind, but the text may not be altered.",
            "but the text may not be altered.",
            "the text may not be altered",
        ),
        (
            "If they go bankrupt, the source files are handed over, with notes.",
            "the source",
            "the source files are handed over",
        ),
        ("They close by, and leave.", "They close by,", "They close by"),
        ("We pay for the work that was done by all of the people in the old town.", "We pay for the", "We pay"),
        ("And so, and so on.", "And so,", "so"),
    ],
)
def test_a_span_is_fitted_to_its_clause(text: str, found: str, marked: str) -> None:
    units, spans = around(text), split(text).tolist()
    start = text.index(found)
    first = next(at for at, (a, _) in enumerate(spans) if a >= start)
    last = next(at for at, (_, b) in enumerate(spans, 1) if b >= start + len(found))
    begin, end = units.fitted(first, last)
    assert text[spans[begin][0] : spans[end - 1][1]] == marked


@given(texts, st.data())
def test_what_is_marked_holds_words_of_the_span_and_few_others(text: str, data: st.DataObject) -> None:
    units = around(text)
    first = data.draw(st.integers(0, len(units.texts) - 1))
    last = data.draw(st.integers(first + 1, len(units.texts)))
    begin, end = units.fitted(first, last)
    assert 0 <= begin < end <= len(units.texts)
    assert not any(units.begins[begin + 1 : first])
    assert not any(units.ends[last + 1 : end])

    def words(start: int, stop: int) -> int:
        return sum(text.isalnum() for text in units.texts[start:stop])

    assert words(begin, first) <= MOST_BEFORE
    assert words(last, end) <= MOST_BEHIND
