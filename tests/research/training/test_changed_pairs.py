"""Rows made of minimal changes: four a change, with no label told by the phrase, the text, or shared words."""

from collections import Counter
from itertools import islice
from statistics import mean

import pytest

from research.training.changed_pairs import Row, changed_lines, changed_pairs, phrase_of
from research.training.contrast_data import read_contrast, shared_words

LINES = list(islice(read_contrast(), 300))
SENTENCES = [text for line in LINES for text, _ in line.pairs]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return list(islice(changed_pairs(SENTENCES, None, 1), 600))


def test_shared_words_tell_no_label(rows: list[Row]) -> None:
    shared = {
        label: mean(shared_words(row.phrase, row.text) for row in rows if row.label == label)
        for label in ("match", "differs")
    }
    assert abs(shared["match"] - shared["differs"]) < 0.02
    assert 0.5 < shared["match"] < 0.98


def test_neither_phrase_nor_length_tells_the_label(rows: list[Row]) -> None:
    labels = Counter((row.phrase, row.label) for row in rows if row.label != "unrelated")
    assert all(labels[phrase, "match"] == labels[phrase, "differs"] for phrase, _ in labels)
    words = {label: mean(len(row.text.split()) for row in rows if row.label == label) for label in ("match", "differs")}
    assert max(words.values()) < 1.1 * min(words.values())


def test_kinds_are_even_as_far_as_the_sentences_allow(rows: list[Row]) -> None:
    kinds = Counter(row.kind for row in rows if row.label == "differs")
    assert len(kinds) >= 6
    assert max(kinds.values()) < 0.25 * kinds.total()
    assert {(row.label, row.kind) for row in rows if row.label != "differs"} == {
        ("match", "same"),
        ("unrelated", "topic"),
    }


def test_rows_depend_on_sentences_and_seed_alone(rows: list[Row]) -> None:
    assert list(islice(changed_pairs(SENTENCES, None, 1), 100)) == rows[:100]
    assert list(islice(changed_pairs(SENTENCES, None, 2), 100)) != rows[:100]


def test_lines_give_texts_in_words_of_their_own() -> None:
    texts = {text for line in LINES for text in (line.same, line.same_close)}
    made = list(changed_lines(LINES, None, 1))
    labels = Counter(row.label for row in made)
    assert labels["match"] == labels["differs"] > 100
    assert sum(row.text in texts for row in made) >= len(made) / 2


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Hi, my router (a new one) is broken, and I am cross.", "my router is broken"),
        ("Please cancel it.", "cancel it"),
        ("You get a refund if it rains, which it does.", "You get a refund if it rains"),
    ],
)
def test_a_phrase_is_the_first_clause(text: str, phrase: str) -> None:
    assert phrase_of(text) == phrase
