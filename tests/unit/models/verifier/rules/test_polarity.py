"""Negation cues and their scopes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.verifier.rules import negation
from models.verifier.rules.negation import REACH, negations
from models.verifier.rules.polarity import has_negation, is_english, is_negated, polarity
from tests.unit.models.verifier.rules.polarity_cases import CALLS_AND_TICKETS, GOVERNING_LAW

NEGATED = [
    ("I couldn't book a table for two.", "book a table"),
    ("I couldn't book a table for two.", "couldn't book a table"),
    ("I couldn't book a table for two.", "I couldn't book a table for two."),
    ("We dont book tables", "book tables"),
    ("He can\u2019t cancel my order.", "cancel my order"),
    ("NOBODY TOOK THE MONEY", "TOOK THE MONEY"),
    ("He left without paying the bill.", "paying the bill"),
    ("I refuse to pay.", "pay"),
    ("neither I nor my wife could book a table", "book a table"),
    ("I don't think that I was ever able to book a table", "book a table"),
    ("No fever, cough or pain today.", "pain"),
    ("Booking a table was not possible.", "Booking a table"),
    ("Booking a table is impossible.", "Booking a table"),
    ("The payment wasn't accepted.", "The payment"),
    ("It was fine. But the parcel never arrived.", "arrived"),
]
AFFIRMED = [
    ("Please book a table.", "book a table"),
    ("I don't want pizza, book a table.", "book a table"),
    ("No, I want to book a table.", "book a table"),
    ("No. Book a table.", "Book a table"),
    ("I did not pay but he could book a table.", "book a table"),
    ("I did not pay\nbook a table", "book a table"),
    ("I did not call and I want to book a table.", "book a table"),
    ("Not only did they book a table, they paid.", "book a table"),
    ("Can't you book a table?", "book a table"),
    ("Why don't we book a table?", "book a table"),
    ("I cannot wait to book a table.", "book a table"),
    ("They never failed to book a table.", "book a table"),
    ("Book a table. It is not possible to walk there.", "Book a table"),
    ("Nothing but book a table", "book a table"),
    ("A note on notable knots", "notable"),
    ("My husband died not long ago.", "My husband died not long ago"),
]
_WORDS = """
not never nothing no without but and or , if that which who is was shall cannot didn't failed to book the table it
we that impossible works and not with rather than
"""
WORDS = _WORDS.split()


@pytest.mark.parametrize(("text", "span"), NEGATED)
def test_a_span_in_the_scope_of_a_cue_is_negated(text: str, span: str) -> None:
    assert is_negated(text, text.index(span), text.index(span) + len(span))


@pytest.mark.parametrize(("text", "span"), AFFIRMED)
def test_a_span_outside_every_scope_is_not(text: str, span: str) -> None:
    assert not is_negated(text, text.index(span), text.index(span) + len(span))


@pytest.mark.parametrize(("marked", "negated"), [*GOVERNING_LAW, *CALLS_AND_TICKETS])
def test_a_span_has_the_polarity_of_its_main_clause(marked: str, negated: bool) -> None:
    text = marked.replace("[", "").replace("]", "")
    assert polarity(text, marked.index("["), marked.index("]") - 1) == ("negated" if negated else "affirmed")


@pytest.mark.parametrize(("fillers", "negated"), [(0, True), (REACH - 1, True), (REACH, False), (REACH + 5, False)])
def test_a_scope_ends_after_so_many_words(fillers: int, negated: bool) -> None:
    text = "not " + "so " * fillers + "booked"
    assert is_negated(text, text.index("booked"), len(text)) is negated


@given(
    st.lists(st.sampled_from(["not", "never failed to", "without", "book", ",", ".", "but", "is impossible", "\n"])),
    st.data(),
)
def test_without_a_cue_nothing_is_negated(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if "is impossible" not in words and is_negated(text, start, end):
        assert has_negation(text)


@pytest.mark.parametrize(
    ("text", "scopes"),
    [
        ("It can\u2019t wait.", []),
        ("We never book, but he does not.", [("never", "book"), ("not", "")]),
        ("No fever, cough or pain", [("No", "fever, cough or pain")]),
        ("Nothing in this note says it is so and they agree", [("Nothing", "in this note says it is so")]),
        ("It never failed to start", [("never", "failed to start"), ("failed to", "start")]),
        ("Goods that were not paid for shall be returned", [("not", "paid for")]),
        ("Subletting is prohibited", [("is prohibited", "Subletting ")]),
    ],
)
def test_negations_have_their_scopes(text: str, scopes: list[tuple[str, str]]) -> None:
    named = [(text[n.start : n.end], text[n.scope_start : n.scope_end]) for n in negations(text)]
    assert named == scopes


@given(st.lists(st.sampled_from(WORDS), max_size=15))
def test_scopes_lie_beside_their_cues(words: list[str]) -> None:
    text = " ".join(words)
    for cue in negations(text):
        assert 0 <= cue.start < cue.end <= len(text)
        assert 0 <= cue.scope_start <= cue.scope_end <= len(text)
        assert cue.end <= cue.scope_start or cue.scope_end <= cue.start


@given(st.lists(st.sampled_from(WORDS), max_size=15), st.lists(st.sampled_from(WORDS), max_size=15))
def test_another_sentence_changes_nothing(words: list[str], others: list[str]) -> None:
    text = " ".join(words)
    if text:
        assert is_negated(f"{text}. {' '.join(others)}", 0, len(text)) is is_negated(f"{text}.", 0, len(text))
        before = f"{' '.join(others)}. {text}."
        assert is_negated(before, len(before) - len(text) - 1, len(before) - 1) is is_negated(f"{text}.", 0, len(text))


@given(st.lists(st.sampled_from(WORDS), max_size=15))
def test_words_that_begin_no_pattern_are_words(words: list[str]) -> None:
    text = " ".join(words)
    plainly = [(match.lastgroup or "word", match.span()) for match in negation._TOKEN.finditer(text)]
    assert [(kind, match.span()) for kind, match in negation._tokens(text)] == plainly


@pytest.mark.parametrize(("marked", "negated"), [*GOVERNING_LAW, *CALLS_AND_TICKETS])
def test_words_of_clauses_are_read_as_all_patterns_read_them(marked: str, negated: bool) -> None:
    text = negation.plain(marked)
    plainly = [(match.lastgroup or "word", match.span()) for match in negation._TOKEN.finditer(text)]
    assert [(kind, match.span()) for kind, match in negation._tokens(text)] == plainly


@given(st.text(), st.data())
def test_any_text_has_a_polarity(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    assert polarity(text, start, data.draw(st.integers(start, len(text)))) in ("affirmed", "negated")


@pytest.mark.parametrize(
    ("text", "metadata", "english"),
    [
        ("the parcel was not delivered", {}, True),
        ("couldn't book", {}, True),
        ("Nobody offered a refund.", {}, True),
        ("They offered no refund.", {}, True),
        ("We offered no refund.", {}, True),
        ("havent paid", {}, True),
        ("C'est la maison dont je parle.", {}, False),
        ("No he visto a usted.", {}, False),
        ("Wir waren in Not.", {}, False),
        ("no quiero reservar una mesa", {}, False),
        ("je ne veux pas", {}, False),
        ("\u4e0d\u8981", {}, False),
        ("no", {"lang": "en"}, True),
        ("no", {"language": "EN-us"}, True),
        ("the parcel was not delivered", {"lang": "de"}, False),
        ("the parcel was not delivered", {"lang": 7}, True),
        ("", {}, False),
    ],
)
def test_the_language_is_that_of_the_metadata_or_of_the_words(
    text: str, metadata: dict[str, object], english: bool
) -> None:
    assert is_english(text, metadata) is english
