"""Sentences: where they end, and that nothing but white space is lost between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.evaluation.sentences import sentence_spans

TEXTS = st.lists(st.sampled_from(["Mr. ", "It ", "rains.", "go! ", '"Why?" ', "3.14 ", "(No.) ", " ", "\n", "ß "]))


def cut(text: str) -> list[str]:
    return [span.of(text) for span in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n", []),
        ("one line", ["one line"]),
        ("It rains. Go in!", ["It rains.", "Go in!"]),
        ("It rains.\nGo in!", ["It rains.", "Go in!"]),
        ("He paid 3.14 euros. 20 people saw it.", ["He paid 3.14 euros.", "20 people saw it."]),
        ("so it said. no more was said.", ["so it said. no more was said."]),
        ("Mrs. A. Smith met Dr. Who.", ["Mrs. A. Smith met Dr. Who."]),
        ("Acme Inc. (Delaware) agrees.", ["Acme Inc. (Delaware) agrees."]),
        ('"Why?" she asked. "No reason." He left.', ['"Why?" she asked.', '"No reason."', "He left."]),
        ("“Why?” “No reason.” (He left.) She stayed.", ["“Why?”", "“No reason.”", "(He left.)", "She stayed."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@given(TEXTS.map("".join))
def test_sentences_are_in_order_and_leave_only_white_space(text: str) -> None:
    spans = sentence_spans(text)
    bounds = [0, *(bound for span in spans for bound in (span.start, span.end)), len(text)]
    assert bounds == sorted(bounds)
    assert all(span.of(text) == span.of(text).strip() != "" for span in spans)
    assert "".join("".join(cut(text)).split()) == "".join(text.split())
