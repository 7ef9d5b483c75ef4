"""A text that is wrapped reads as on one line: the same units, clauses and sentences, wherever its lines break."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.sources.plain import paragraphs
from models.text.borders import border_codes, sentence_spans
from models.text.units import split
from models.text.wrapping import line_breaks, unwrapped
from tests import strategies

WORDS = st.sampled_from([
    "a", "to", "I", "you", "want", "cancel", "plan's", "Mr.", "e.g.", "5", "3.14", "No.", "(or", "so)",
    "\u201cyes,\u201d", "he", "said.", "Then", "ends;", "because!", "Why?",
])  # fmt: skip
BREAKS = st.sampled_from(["\n", "\r\n", " \n", "\n  ", "\r", "\f", "\n\t", "\n\f"])


@st.composite
def wrapped(draw: st.DrawFn) -> tuple[str, str]:
    """A text on one line, and the same with some of its spaces broken."""
    words: Sequence[str] = draw(st.lists(WORDS, min_size=1, max_size=40))
    text = words[0]
    for word in words[1:]:
        # A number before a full stop would be that of an item.
        text += (draw(BREAKS | st.just(" ")) if not word[0].isdigit() else " ") + word
    return " ".join(words), text


@given(wrapped())
def test_lines_may_break_anywhere(texts: tuple[str, str]) -> None:
    one_line, several = texts
    units = [split(text) for text in texts]
    assert [[text[a:b] for a, b in of] for text, of in zip(texts, units, strict=True)] == [
        [one_line[a:b] for a, b in units[0]]
    ] * 2
    assert border_codes(several, units[1]).tolist() == border_codes(one_line, units[0]).tolist()
    sentences = [[" ".join(span.of(text).split()) for span in sentence_spans(text)] for text in texts]
    assert sentences[0] == sentences[1]


@given(strategies.texts)
def test_unwrapping_changes_line_breaks_alone(text: str) -> None:
    read = unwrapped(text)
    assert len(read) == len(text)
    broken = {at for each in line_breaks(text) if each.wraps for at in range(each.start, each.end)}
    assert all(read[at] == (" " if at in broken else text[at]) for at in range(len(text)))
    assert all(text[at].isspace() for at in broken)
    assert unwrapped(read) == read


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Agent: I can\ncancel it.\nCustomer: thanks\na lot", ["Agent: I can\ncancel it.", "Customer: thanks\na lot"]),
        ("agent: hello\ncustomer: I\nsee", ["agent: hello", "customer: I\nsee"]),
        ("the note:\nas follows", ["the note:\nas follows"]),
        ("10:30 Agent: hi\n10:31 Jo Day: I\nam", ["10:30 Agent: hi", "10:31 Jo Day: I\nam"]),
        ("[10:30:05] hi\n[10:31:00] I\nam\n<Jo> so", ["[10:30:05] hi", "[10:31:00] I\nam", "<Jo> so"]),
        ("Bring\n- the old\n  contract\n- a pen\n* ink", ["Bring", "- the old\n  contract", "- a pen", "* ink"]),
        (
            "1. The tenant\nmay not\n2) move\n(a) in\n(iv) out",
            ["1. The tenant\nmay not", "2) move", "(a) in", "(iv) out"],
        ),
        ("# Fees\nThe fee\nis due\n## More\nNo", ["# Fees", "The fee\nis due", "## More", "No"]),
        ("Fees\n====\nThe fee\nis due", ["Fees", "====", "The fee\nis due"]),
        ("FEES AND COSTS\nThe fee\nis due", ["FEES AND COSTS", "The fee\nis due"]),
        ("PLEASE CANCEL\nMY PLAN", ["PLEASE CANCEL\nMY PLAN"]),
        ("the fee\nis due\n\nno more", ["the fee\nis due", "no more"]),
        ("the fee\u2028is due\u2029no more", ["the fee", "is due", "no more"]),
        ("> I said\n> no", ["> I said", "> no"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
    ],
)
def test_what_stands_apart_stays_apart(text: str, sentences: list[str]) -> None:
    assert [span.of(text) for span in sentence_spans(text)] == sentences


@given(st.lists(wrapped().map(lambda texts: texts[1]) | st.sampled_from(["Agent: yes", "", "\r"]), max_size=6))
def test_the_paragraphs_of_a_text_are_the_text(pieces: list[str]) -> None:
    text = "\n\n".join(pieces)
    found = list(paragraphs(text))
    assert "\n".join(found) == text
    assert len(found) == max(1, sum(map(bool, map(str.strip, pieces))))


def test_a_long_run_of_spaces_takes_linear_time() -> None:
    text = "a" + " " * 200_000 + "b\n" * 3
    assert len(unwrapped(text)) == len(text)
