"""What is marked of a span: never nothing, never beyond its clause, and without words that say nothing at its ends."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.borders import border_codes, end_strengths, start_strengths
from models.text.units import split
from models.types import CharSpan
from models.verifier.rules.marking import MOST_BEFORE, MOST_BEHIND, UnitsAround, unquoted

WORDS = ["and", "but", "the", "cat", "sat", "on", "mat", "to", ",", ".", "(", ")", "plan"]
# With brackets and signs that touch.
WORDS += ["(cat", "mat)", "sky-high", "$5", "6%", "p.m."]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=24).map(" ".join)


def around(text: str) -> UnitsAround:
    units = split(text)
    codes = border_codes(text, units)
    ends = [*(end_strengths(codes) > 0).tolist(), True]
    spans = units.tolist()
    touches = [False, *(a == b for (_, b), (a, _) in pairwise(spans))]
    return UnitsAround([text[a:b] for a, b in spans], (start_strengths(codes) > 0).tolist(), ends, touches)


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
        (
            "They saw a sales increase of 6.5% in the year that ended it for most of us.",
            "increase of 6.5",
            "increase of 6.5%",
        ),
        ("They saw an increase of 6.5 %.", "an increase of 6.5", "They saw an increase of 6.5 %"),
        ("It is at 20°C in the old town hall near the river.", "20", "It is at 20°C"),
        ("All that they made was nearly $1bn.", "1bn.", "$1bn"),
        ("They gave us at the end 5€.", "5", "5€"),
        ("They gave him a $1.5m (£799,000) fine.", "a $1.5m (£799,000", "They gave him a $1.5m (£799,000)"),
        ("They are open from 8 a.m. to 4 p.m.", "open from 8 a.m. to 4", "They are open from 8 a.m. to 4 p.m."),
        ("He moved to the U.K.", "He moved", "He moved to the U.K."),
        ("We do not want to pay such sky-high prices.", "high prices", "sky-high prices"),
        ("We went to the check-in with all of our bags and boxes.", "the check", "We went to the check-in"),
        ("The plan (that is new) stays.", "that is new", "that is new"),
        ("The plan stays - it is good.", "it is good", "it is good"),
        ("They pay for rooms 5 $20 at most every year in June.", "rooms 5", "They pay for rooms 5"),
        ("They live in the town of St.", "They live", "They live in the town of St"),
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
    stop = end
    while stop > last and units.texts[stop - 1] in {")", "."}:  # a bracket, or the stop of an abbreviation
        stop -= 1
    assert not any(units.ends[last + 1 : stop])

    def words(start: int, stop: int) -> int:
        return sum(text.isalnum() for text in units.texts[start:stop])

    assert words(begin, first) <= MOST_BEFORE
    assert words(last, end) <= MOST_BEHIND


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ('"where is my refund"', "where is my refund"),
        ("\u201cI'm still waiting.\u201d ", "I'm still waiting."),
        ("\u2018I\u2019m still waiting.\u2019", "I\u2019m still waiting."),
        ("\u00abI am waiting.\u00bb", "I am waiting."),
        ("'I'm still waiting'", "I'm still waiting"),
        ('"I am waiting".', "I am waiting"),
        ('"I am waiting.', "I am waiting."),
        ('I am waiting."', "I am waiting."),
        ("I am waiting.\u201d", "I am waiting."),
        ('He said "yes" twice.', 'He said "yes" twice.'),
        ('"Yes" and "no"', '"Yes" and "no"'),
        ("'Yes' and 'no'", "'Yes' and 'no'"),
        ('"Yes", he said.', '"Yes", he said.'),
        ('He said "yes".', 'He said "yes".'),
        ('a screen of 27"', 'a screen of 27"'),
        ("the customers\u2019", "the customers\u2019"),
        ("'cause I say so", "'cause I say so"),
        ("  no quotes ", "  no quotes "),
        ('""', '""'),
        ('"', '"'),
        ("", ""),
    ],
)
def test_quotation_marks_around_a_text_are_left_out(text: str, within: str) -> None:
    assert unquoted(text).of(text) == within


@given(st.text("ab \"'.\u201c\u201d", max_size=9))
def test_a_text_without_quotation_marks_around_it_holds_what_it_says(text: str) -> None:
    span = unquoted(text)
    assert not any(map(str.isalnum, text[: span.start] + text[span.end :]))
    assert span == CharSpan(0, len(text)) or any(map(str.isalnum, span.of(text)))
