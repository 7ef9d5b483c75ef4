"""Spans of texts beside an index: the texts of the rounds, and the whole of it once."""

import json
from pathlib import Path

import pytest

from research.benchmarks.spans_of_texts import measure, texts_of


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "documents.ndjson"
    words = [f"word{number}" for number in range(500)]
    lines = [{"id": str(begin), "text": " ".join(words[begin : begin + 50])} for begin in range(0, 500, 50)]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_texts_have_words_in_their_order_and_every_round_has_its_own(source: Path) -> None:
    first, second = texts_of(source, 3, 40, 0), texts_of(source, 3, 40, 1)
    assert len({*first, *second}) == 6
    for text in (*first, *second):
        numbers = [int(word.removeprefix("word")) for word in text.split()]
        assert numbers == list(range(numbers[0], numbers[0] + 40))


def test_a_source_with_too_few_words(source: Path) -> None:
    with pytest.raises(SystemExit, match="500 words"):
        texts_of(source, 1, 501, 0)


def test_everything_is_measured_and_both_ways_find_the_same(source: Path) -> None:
    figures = measure(source, 4, 30, 1, "hashing")
    assert (figures.texts, figures.words, figures.raw_difference) == (4, 30, 0)
    assert min(figures.spans_s, figures.index_and_search_s, figures.ratio, figures.search_alone_p50_ms) > 0
    assert figures.first_ratio == pytest.approx(figures.first_index_and_search_s / figures.first_spans_s, rel=0.2)
