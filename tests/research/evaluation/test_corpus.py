"""Corpora: parts, sentences and units, where they stand in the document's text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import SourceUnreadable
from models.text import units
from models.types import CharSpan, Document, Part, UnitSpan
from research.evaluation.corpus import Corpus, DocumentSpan, part_spans, read_corpus
from tests.workspace import document

PARTS = st.lists(st.text("ab .!A\n", max_size=12), min_size=1, max_size=4)


@given(PARTS)
def test_parts_and_sentences_say_what_stands_there(texts: list[str]) -> None:
    made = document("a", *texts)
    corpus = Corpus([made])
    assert [span.of(made.text) for span in part_spans(made)] == texts
    assert [corpus.text(part) for part in corpus.parts()] == texts
    for sentence in corpus.sentences():
        part = corpus.part(sentence)
        assert part.span.start <= sentence.span.start < sentence.span.end <= part.span.end


@given(PARTS, st.data())
def test_the_units_of_a_span_are_those_it_touches(texts: list[str], data: st.DataObject) -> None:
    made = document("a", *texts)
    start, end = sorted((data.draw(st.integers(0, len(made.text))), data.draw(st.integers(0, len(made.text)))))
    touched = [
        number
        for number, (first, last) in enumerate(units.split(made.text))
        if any(first <= character < last for character in range(start, end))
    ]
    found = Corpus([made]).units(DocumentSpan("a", CharSpan(start, end)))
    if start < end:
        assert list(range(found.start, found.end)) == touched


def test_the_part_of_a_span_is_where_it_starts() -> None:
    corpus = Corpus([document("a", "one", "", "two three"), document("b", "four")])
    whole = DocumentSpan("a", CharSpan(0, 14))
    assert corpus.part(whole) == DocumentSpan("a", CharSpan(0, 3))
    assert corpus.part(DocumentSpan("a", CharSpan(9, 14))) == DocumentSpan("a", CharSpan(5, 14))
    assert corpus.part(DocumentSpan("b", CharSpan(1, 2))) == DocumentSpan("b", CharSpan(0, 4))
    assert corpus.units(whole) == UnitSpan(0, 3)


def test_of_an_id_that_occurs_twice_the_last_counts() -> None:
    assert Corpus([document("a", "old"), document("a", "new")]).documents == {"a": Document("a", (Part("new"),))}


def test_a_document_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "documents.ndjson"
    path.write_text('{"id": "a", "text": "x"}\n{"id": "b"}\n')
    with pytest.raises(SourceUnreadable, match=r"documents\.ndjson:2: a document needs either text or parts"):
        read_corpus(path)
    path.write_text('{"id": "a", "text": "x"}\n')
    assert list(read_corpus(path).documents) == ["a"]
