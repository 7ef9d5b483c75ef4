"""The splitter keeps its promises on any text."""

from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st
from uniseg.wordbreak import word_boundaries, word_break

from models.text import units
from models.text.units import OLDEST, TextForm
from models.text.words import words as words_of
from tests.strategies import AWKWARD, texts


def graphemes(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in regex.finditer(r"(?V1)\X", text)]


def is_white(text: str) -> bool:
    return regex.fullmatch(r"(?V1)\s+", text) is not None


forms = st.sampled_from(get_args(TextForm))


@given(texts, forms)
@example(" \u0301", "text.v2")
@example("a \u0301b", "text.v2")
@example("\u0600 x", "text.v2")
@example("\u0600" * 3 + "a\r\n", "text.v2")
@example("l'\u0301a's\u0301 \u202f\u0301", "text.v2")
def test_units_keep_their_promises(text: str, form: TextForm) -> None:
    spans = units.split(text, form).tolist()
    bounds = {0, *(end for _, end in graphemes(text))}
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(start in bounds and end in bounds for start, end in spans), "inside a grapheme"
    covered = {at for start, end in spans for at in range(start, end)}
    for start, end in graphemes(text):
        # A grapheme is the least one can see: it is covered whole if it holds anything but white space.
        wanted = set() if is_white(text[start:end]) else set(range(start, end))
        assert covered & set(range(start, end)) == wanted
    assert units.split(text, form).tolist() == spans


@given(texts, forms)
def test_units_are_bounded(text: str, form: TextForm) -> None:
    text = text.replace(" ", "x") * 6
    whole = set(graphemes(text))
    for start, end in units.split(text, form).tolist():
        assert end - start <= units.MAX_LENGTH or (start, end) in whole


IN_WORDS = regex.compile(r"(?V1)[\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}\p{WB=Katakana}\p{WB=ExtendNumLet}]")


@given(texts)
@example(".\u200e")
@example("\t\u0301")
@example("'a l'eau 3.14,")
def test_units_are_the_words_of_unicode_and_the_graphemes_between_them(text: str) -> None:
    """``uniseg`` knows UAX #29 too, and has it from another hand than ``units``."""
    assume(all(is_settled(character) for character in text))
    words = oracle(text)
    assume(all(end - start <= units.MAX_LENGTH for start, end in words))
    assert units.split(text, OLDEST).tolist() == words


def is_settled(character: str) -> bool:
    """Whether both libraries, of different versions of Unicode, class a character alike; and it leads no grapheme."""
    kind = word_break(character).value
    return bool(regex.match(rf"(?V1)[\p{{WB={kind}}}--\p{{GCB=Prepend}}]", character))


def oracle(text: str) -> list[list[int]]:
    """Bounds inside of graphemes do not count (Thai has some); between words, what is not white space stands alone.

    A picture stands alone too: UAX #29 keeps it with a word that ends in a zero-width joiner (WB3c).
    """
    pictures = {match.start() for match in regex.finditer(r"(?<=\u200d)\p{Extended_Pictographic}", text)}
    bounds = {0, *(end for _, end in graphemes(text))} & {0, *word_boundaries(text), *pictures}
    found: list[list[int]] = []
    for start, end in pairwise(sorted(bounds)):
        if IN_WORDS.match(text, start):
            found.append([start, end])
        else:
            pieces = graphemes(text[start:end])
            found += [[start + a, start + b] for a, b in pieces if not is_white(text[start + a : start + b])]
    return found


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
    for form in get_args(TextForm):
        test_units_keep_their_promises.hypothesis.inner_test(piece, form)
        test_units_keep_their_promises.hypothesis.inner_test(piece + piece, form)
        test_units_keep_their_promises.hypothesis.inner_test(f"x{piece}y {piece}", form)


def test_hebrew_acronyms_are_words() -> None:
    """UAX #29, rules WB7a to WB7c."""
    text = 'צה"ל ג\' "שלום"'
    assert [text[start:end] for start, end in units.split(text)] == ['צה"ל', "ג'", '"', "שלום", '"']


FLAG_PIECES = st.sampled_from(
    [*"\U0001f1e6\U0001f1fa" * 3, *"a'_ 1\r\n\u0301\u200d\u0600\u0903\u00ad\u05d0\u30ab\U0001f600", *AWKWARD]
)


@given(st.lists(FLAG_PIECES, max_size=40).map("".join) | texts, forms)
@example("\U0001f1e6" * 201, "text.v2")
@example("\u0600" + "\U0001f1e6" * 5 + "\u200d\U0001f600", "text.v2")
def test_flags_are_split_as_the_naive_expression_splits_them(text: str, form: TextForm) -> None:
    """The splitter is what it is without ``_FLAG``, to the bit."""
    spans = units.split(text, form).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(units._UNIT, form, _without_flags(units._UNIT[form]))
        patch.setattr(units, "_GRAPHEME", _without_flags(units._GRAPHEME))
        assert units.split(text, form).tolist() == spans


def _without_flags(pattern: regex.Pattern[str]) -> regex.Pattern[str]:
    return regex.compile(pattern.pattern.replace(units._FLAG + "|", ""), regex.V1)


@pytest.mark.parametrize("pattern", [*units._UNIT.values(), units._GRAPHEME])
@pytest.mark.parametrize("count", [1_000, 1_001])
def test_the_regional_indicators_that_are_looked_back_at_are_linear(pattern: regex.Pattern[str], count: int) -> None:
    r"""``\X`` looks back at a whole run of them from every place that it tries, so it may try few."""
    counted = regex.compile(pattern.pattern.replace(r"\X", r"(?P<slow>\X)"), regex.V1)
    matches = list(counted.finditer("\U0001f1e6" * count))
    assert len(matches) == (count + 1) // 2
    assert sum(match.end() for match in matches if match["slow"]) <= count


SIGNS = st.sampled_from([".", ":", "_", "\u00b7", "/", ",", "-", "'s ", "\u2019s ", ".\u200b", " "])
LONG_WORDS = st.text("abcdefgh", min_size=2, max_size=5).filter(lambda word: word not in {"be", "ad"})


@given(st.lists(LONG_WORDS, min_size=1, max_size=6), st.data())
def test_words_that_signs_join_are_units_of_their_own(words: list[str], data: st.DataObject) -> None:
    text = "".join(word + data.draw(SIGNS) for word in words)
    assert [text[a:b].strip("\u200b") for a, b in units.split(text) if text[a:b].strip("\u200b").isalpha()] == words


@given(st.text("abcdefgh", min_size=2, max_size=12), st.sampled_from("\u200b\u00ad\u2060\ufeff"), st.data())
def test_invisible_signs_within_a_word_are_passed_over(word: str, sign: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(word) - 1))
    text = word[:at] + sign + word[at:]
    assert units.split(f"a {text} b").tolist() == [[0, 1], [2, 3 + len(word)], [4 + len(word), 5 + len(word)]]
    assert words_of(text) == (word,)
