"""Phrases set into contexts, and the spans drawn around them."""

import gzip
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.errors import InvalidInput
from models.text import units
from models.text.tokens import Tokens, join
from models.types import CharSpan, SpanBounds
from research.training.batches import Shape, draw, draw_spans, set_in_context
from research.training.sources import GradedPair, read_excluded, read_graded_pairs, sentences
from research.training.texts import Texts, index_by_word

PROSE = {"novels": ["It was late, and nobody saw the cat. The door, which was green, stood open. Rain fell."]}
TEXTS = Texts(PROSE, {"short": ["a cat sat", "no way"]}, [GradedPair("A cat sat.", "The cat was seated.", 0.9)], {})


def joined_words(text: str):
    spans = units.split(text)
    return join(spans, Tokens(np.arange(len(spans), dtype=np.int32), spans, np.zeros(len(spans), bool)))


@pytest.mark.parametrize("seed", range(40))
def test_a_phrase_stands_where_its_span_says(seed: int) -> None:
    sample = set_in_context("A cat sat.", PROSE["novels"][0], random.Random(seed))
    assert sample.phrase.of(sample.text).rstrip(".").lower() == "a cat sat"


@pytest.mark.parametrize("seed", range(40))
def test_spans_lie_in_the_text_and_begin_with_the_phrase(seed: int) -> None:
    text = "one two three four five six seven"
    spans = draw_spans(joined_words(text), CharSpan(8, 18), 6, SpanBounds(1, 4), random.Random(seed))
    assert (spans[0].start, spans[0].end) == (2, 4)
    assert len(spans) == 6
    assert all(0 <= span.start < span.end <= 7 for span in spans)


def test_a_step_is_drawn_alike_every_time_and_steps_differ() -> None:
    shape = Shape(pairs=3, set_in_context=2, plain=2, alone=2, short=3)
    assert draw(TEXTS, shape, 13, 5) == draw(TEXTS, shape, 13, 5)
    assert draw(TEXTS, shape, 13, 5) != draw(TEXTS, shape, 13, 6)
    assert draw(TEXTS, shape, 13, 5) != draw(TEXTS, shape, 14, 5)


def test_short_texts_are_terms_of_one_to_four_words_of_prose() -> None:
    short = draw(TEXTS, Shape(short=200), 13, 5).short
    assert len(short) == 200
    assert set(short) <= {
        *("late", "saw", "cat", "door", "green", "stood", "open", "Rain", "fell"),
        *("saw the cat", "stood open", "Rain fell"),
    }
    assert {len(text.split()) for text in short} == {1, 2, 3}


def test_short_texts_are_not_to_be_had_where_no_word_says_anything() -> None:
    texts = replace(TEXTS, prose={"calls": ["And so it is, of them and of us."]})
    with pytest.raises(InvalidInput, match="hardly any terms"):
        draw(texts, Shape(short=3), 13, 5)
    assert draw(texts, Shape(), 13, 5).short == []


def test_paragraphs_without_a_word_are_passed_over() -> None:
    texts = replace(TEXTS, prose={"meetings": ["", "* * *", "It rained."]})
    drawn = draw(texts, Shape(plain=40, alone=40), 13, 5)
    assert all(re.search(r"\w", sample.text) for sample in drawn.others)


def test_questions_are_learnt_whole_and_a_sentence_of_the_prose_beside_each() -> None:
    texts = replace(TEXTS, questions=["where was the cat", "who saw it"])
    without = draw(texts, Shape(short=2), 13, 5)
    drawn = draw(texts, Shape(short=2, questions=30), 13, 5)
    assert set(drawn.short[2:]) == set(texts.questions)
    assert (drawn.queries, drawn.contexts, drawn.short[:2]) == (without.queries, without.contexts, without.short)
    assert drawn.others[: len(without.others)] == without.others
    beside = drawn.others[len(without.others) :]
    assert len(beside) == 30
    assert len({sample.phrase.of(sample.text) for sample in beside}) > 1
    assert all(sample.phrase.of(sample.text) in sentences(sample.text) for sample in beside)


def test_where_no_questions_are_known_none_are_drawn() -> None:
    assert draw(TEXTS, Shape(questions=5), 13, 5) == draw(TEXTS, Shape(), 13, 5)


def test_contexts_of_the_same_topic_are_found_by_word() -> None:
    index = index_by_word({"a": ["Old cats purr.", "Dogs bark.", "Two cats."]})
    assert index == {"cats": ["Old cats purr.", "Two cats."]}


def test_excluded_sentences_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "stsb").mkdir()
    rows = ["g\tf\ty\t1\t4.0\tA man sat.\tA man is seated.", "g\tf\ty\t2\t1.0\tA cat ran.\tA dog ran."]
    with gzip.open(tmp_path / "stsb/sts-train.csv.gz", "wt") as file:
        file.write("\n".join(rows) + "\n")
    heldout = tmp_path / "heldout.tsv"
    heldout.write_text("\tline\tparaphrase\tpassage\tgoldsim\n1\tThe sun.\ta man sat\tp\t2.0\n")
    assert read_graded_pairs(tmp_path, read_excluded(heldout)) == [GradedPair("A cat ran.", "A dog ran.", 0.2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no rows in it"),
        (b"line\tparaphrase\n", "no rows in it"),
        (b"line\tparaphrase\nThe sun.\n", "a row without a sentence"),
        (b"line\tpassage\nThe sun.\tIt shone.\n", "lacks the column 'paraphrase'"),
        (b"\x1f\x8b\x08", "does not name the sentences to leave out"),
    ],
)
def test_a_file_that_would_leave_nothing_out_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    heldout = tmp_path / "heldout.tsv"
    heldout.write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        read_excluded(heldout)


def test_a_phrase_of_stops_alone_stays_one_in_every_context() -> None:
    for seed in range(60):
        sample = set_in_context(". .", "It was late, and nobody saw it.", random.Random(seed))
        assert sample.phrase.of(sample.text) == ". ."


def test_a_missing_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"stsb/sts-train\.csv\.gz"):
        read_graded_pairs(tmp_path)
