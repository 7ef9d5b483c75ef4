"""Borders of clauses, sentences, lines, paragraphs and parts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.text.borders import (
    LEVELS,
    Border,
    Boundary,
    border_codes,
    clause_around,
    end_strengths,
    start_strengths,
    whole_starts,
)
from models.text.units import split
from models.types import CharSpan
from tests.examples import examples
from tests.strategies import texts


def whole_spans(text: str, boundary: Boundary) -> list[str]:
    units = split(text)
    starts = [*whole_starts(border_codes(text, units), boundary).tolist(), len(units)]
    return [text[units[a, 0] : units[b - 1, 1]] for a, b in pairwise(starts)]


SENTENCES = [
    ("It works. Thanks a lot! Bye?", ["It works.", "Thanks a lot!", "Bye?"]),
    ('He said "I was charged twice." Then he left.', ['He said "I was charged twice."', "Then he left."]),
    ("I spoke to Mr. Smith (the manager) on Monday.", ["I spoke to Mr. Smith (the manager) on Monday."]),
    (
        "J. R. Tolkien wrote it. The U.S. Supreme Court read it.",
        ["J. R. Tolkien wrote it.", "The U.S. Supreme Court read it."],
    ),
    ("He said no. Then he left.", ["He said no.", "Then he left."]),
    ("See sec. 5 and No. 7 of it.", ["See sec. 5 and No. 7 of it."]),
    ("1. The tenant must not.\n2. It is prohibited.", ["1. The tenant must not.", "2. It is prohibited."]),
    ("v3.14 of www.example.com costs $5.50 today", ["v3.14 of www.example.com costs $5.50 today"]),
    ("it works. thanks", ["it works. thanks"]),
    ("what?! no... wait", ["what?!", "no... wait"]),
    ("我要取消订阅。你能帮我吗\uff1f好的\uff01", ["我要取消订阅。", "你能帮我吗\uff1f", "好的\uff01"]),
    ("¿Puede cancelar? ¡Sí! «Bien.» Claro.", ["¿Puede cancelar?", "¡Sí!", "«Bien.»", "Claro."]),
    ("मुझे रद्द करना है। धन्यवाद।", ["मुझे रद्द करना है।", "धन्यवाद।"]),
    ("هل يمكنك؟ شكرا.", ["هل يمكنك؟", "شكرا."]),
    ("Agent: hello\nCustomer: I was charged twice", ["Agent: hello", "Customer: I was charged twice"]),
    ("one\r\ntwo\u2028three", ["one\r\ntwo", "three"]),
    ("Please cancel my plan.Thanks.I wait", ["Please cancel my plan.", "Thanks.", "I wait"]),
    ("see java.util.List at www.Foo.com, ask Jo.Day@x.org", ["see java.util.List at www.Foo.com, ask Jo.Day@x.org"]),
    ("Mr.Day said e.g.This", ["Mr.Day said e.g.This"]),
    ("", []),
    (" \n ", []),
    ("...", ["..."]),
]


@pytest.mark.parametrize(("text", "sentences"), SENTENCES)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert whole_spans(text, "sentence") == sentences


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (
            "Hello there, you: go (or stay) - now; please.",
            ["Hello there,", "you:", "go", "(or stay)", "- now;", "please."],
        ),
        ("At 10:30 I paid 1,000 for well-known goods", ["At 10:30 I paid 1,000 for well-known goods"]),
        ("sorry—really", ["sorry", "—really"]),
        ("it's the dogs' bowl", ["it's the dogs' bowl"]),
        ("see it (or later).", ["see it", "(or later)."]),
    ],
)
def test_clauses(text: str, clauses: list[str]) -> None:
    assert whole_spans(text, "clause") == clauses


def test_closing_punctuation_may_be_left_out_and_opening_punctuation_too() -> None:
    text = 'You took it this month. "Really," he said.\n\nNext'
    units = split(text)
    words = [text[a:b] for a, b in units.tolist()]
    codes = border_codes(text, units)
    starts, ends = start_strengths(codes), end_strengths(codes)
    stop, quote, really, comma, after = words.index("."), 6, 7, 8, 9
    assert (words[quote], words[really], words[comma]) == ('"', "Really", ",")
    assert ends[stop] == ends[quote] == Border.SENTENCE  # "this month" and "this month."
    assert starts[stop] == Border.NONE
    assert starts[quote] == starts[really] == Border.SENTENCE
    assert ends[really] == Border.NONE
    assert ends[comma] == ends[after] == Border.CLAUSE
    assert starts[-1] == ends[-1] == ends[-2] == Border.PARAGRAPH
    assert starts[0] == ends[0] == Border.PART


@given(texts)
@settings(max_examples=examples(200))
def test_every_text_has_whole_spans(text: str) -> None:
    units = split(text)
    codes = border_codes(text, units)
    assert codes.dtype == np.uint8
    assert len(codes) == len(units)
    assert (codes == border_codes(text, units)).all()
    starts, ends = start_strengths(codes), end_strengths(codes)
    assert max(starts.max(initial=0), ends.max(initial=0)) <= Border.PART
    firsts = {boundary: set(whole_starts(codes, boundary).tolist()) for boundary in LEVELS}
    assert firsts["part"] == ({0} if len(units) else set())
    assert firsts["part"] <= firsts["sentence"] <= firsts["clause"]


@given(st.lists(st.sampled_from(["- One two.", "(a) three", "4. four, five", "# six", "Agent: seven"]), min_size=1))
def test_a_line_break_between_items_is_a_border_whatever_they_are(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert [sentence for line in lines for sentence in whole_spans(line, "sentence")] == whole_spans(text, "sentence")


def test_collections_of_before_have_the_borders_of_before() -> None:
    text = "one\ntwo plan.Thanks"
    units = split(text, "text.v1")
    starts = whole_starts(border_codes(text, units, "text.v1"), "sentence").tolist()
    assert [text[start:end] for start, end in units[starts].tolist()] == ["one", "two"]
    assert len(whole_spans(text, "sentence")) == 2


@pytest.mark.parametrize(
    ("text", "marked", "read"),
    [
        ("It never came.", "came", "It never came."),
        ("So (as I said) it never came; I called, twice.", "never came", "it never came;"),
        ("It costs 1,200.50 a year, they say.", "costs", "It costs 1,200.50 a year,"),
        ("Late, again", "Late, again", "Late, again"),
        ("No. Never", "No.", "No."),
    ],
)
def test_the_clause_around_what_is_marked_is_read(text: str, marked: str, read: str) -> None:
    start = text.index(marked)
    clause = clause_around(text, CharSpan(start, start + len(marked)))
    assert text[clause.start : clause.end] == read
