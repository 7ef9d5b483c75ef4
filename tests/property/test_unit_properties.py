"""The splitter keeps its promises on any text."""

from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import example, given

from models import units
from tests.strategies import AWKWARD, texts


def graphemes(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in regex.finditer(r"(?V1)\X", text)]


def is_white(text: str) -> bool:
    return regex.fullmatch(r"(?V1)\s+", text) is not None


@given(texts)
@example(" \u0301")
@example("a \u0301b")
@example("\u0600 x")
@example("\u0600" * 3 + "a\r\n")
def test_units_keep_their_promises(text: str) -> None:
    spans = units.split(text).tolist()
    bounds = {0, *(end for _, end in graphemes(text))}
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(start in bounds and end in bounds for start, end in spans), "inside a grapheme"
    covered = {at for start, end in spans for at in range(start, end)}
    for start, end in graphemes(text):
        # A grapheme is the least one can see: it is covered whole if it holds anything but white space.
        wanted = set() if is_white(text[start:end]) else set(range(start, end))
        assert covered & set(range(start, end)) == wanted
    assert units.split(text).tolist() == spans


@given(texts)
def test_units_are_bounded(text: str) -> None:
    text = text.replace(" ", "x") * 6
    whole = set(graphemes(text))
    for start, end in units.split(text).tolist():
        assert end - start <= units.MAX_LENGTH or (start, end) in whole


@given(texts)
def test_a_unit_begins_only_where_unicode_begins_one(text: str) -> None:
    """``regex`` knows UAX #29 itself. Units are its words, but for three things this project decides on its own."""
    words = {match.start() for match in regex.finditer(r"(?wV1)\b", text)}
    for start, end in units.split(text).tolist():
        for at in (start, end):
            alone = regex.match(r"(?V1)\p{WB=Other}|\p{WB=Katakana}|\p{WB=ExtendNumLet}", text[at : at + 1])
            # ``regex`` joins a mark that has nothing to mark to the letter behind it, against WB999.
            alone = alone or regex.match(r"(?V1)[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]", text[at - 1 : at])
            cut = end - start >= units.MAX_LENGTH or regex.search(r"\p{GCB=Prepend}", text)
            assert at in words or at == len(text) or alone or cut or is_between_katakana(text, at), (at, ascii(text))


def is_between_katakana(text: str, at: int) -> bool:
    return any(regex.match(r"(?V1)[\p{WB=Katakana}_]", text[i : i + 1]) for i in (at - 1, at))


@pytest.mark.parametrize("letter", ["a", "é", "한", "1", "_", "カ"])
def test_a_word_of_100_000_letters(letter: str) -> None:
    spans = units.split(letter * 100_000)
    assert (np.diff(spans, axis=1) <= units.MAX_LENGTH).all()
    assert spans[0, 0] == 0
    assert spans[-1, 1] == 100_000
    assert (spans[1:, 0] == spans[:-1, 1]).all()


def test_a_letter_of_100_000_marks_stays_whole() -> None:
    assert units.split("a" + "\u0301" * 100_000).tolist() == [[0, 100_001]]


@pytest.mark.parametrize("piece", AWKWARD)
def test_every_awkward_piece_alone_and_doubled(piece: str) -> None:
    test_units_keep_their_promises.hypothesis.inner_test(piece)
    test_units_keep_their_promises.hypothesis.inner_test(piece + piece)
    test_units_keep_their_promises.hypothesis.inner_test(f"x{piece}y {piece}")


def test_hebrew_acronyms_are_words() -> None:
    """UAX #29, rules WB7a to WB7c."""
    text = 'צה"ל ג\' "שלום"'
    assert [text[start:end] for start, end in units.split(text)] == ['צה"ל', "ג'", '"', "שלום", '"']
