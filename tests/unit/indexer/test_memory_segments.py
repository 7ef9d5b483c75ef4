"""A segment in memory is the written segment of the same document, bit for bit."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.indexing.text_segments import segments_in_memory
from indexer.segments.memory import MemorySegment
from indexer.segments.reader import Segment
from indexer.segments.text import OffsetUnit
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Recipe
from indexer.words.files import StoredWords, WordRows, WordWriter
from models.encoders.base import Encoder
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.text import units
from models.text.tokens import Tokens
from models.text.words import folded_units
from models.types import CharSpan, Document, Part, SpanBounds, UnitSpan
from tests.examples import examples
from tests.strategies import texts

RECIPE = Recipe("none", "none", 5, SpanBounds(2, 6))
DOCUMENTS = [
    Document("a", (Part("Hallo, 😀 Welt.\r\nYes.", {"turn": 1}), Part(""), Part("\0é", {"turn": None})), {"kind": "x"}),
    Document("long", (Part("one two, three. " * 400), Part("four five " * 200)), {"deep": {"a": [1, None]}}),
    Document("empty", ()),
    Document("blank", (Part(" \n "), Part(""))),
]
ARRAYS = ("vectors", "scales", "norm_codes", "norm_affine", "norm_errors", "unit_spans", "borders", "windows")
NUMBERS = ("part_document", "part_units", "document_parts", "document_units", "text_starts")


def segments(encoder: Encoder, documents: Sequence[Document], recipe: Recipe) -> list[MemorySegment]:
    """The segments of all steps."""
    return [segment for step in segments_in_memory(encoder, documents, recipe) for segment in step.segments]


def made(document: Document) -> tuple[list[PartUnits], np.ndarray]:
    parts = [PartUnits(units.split(part.text), 1) for part in document.parts]
    count = sum(len(part.spans) for part in parts)
    return parts, np.random.default_rng(count).normal(size=(count, RECIPE.dim)).astype(np.float32)


def written(folder: Path, document: Document) -> Segment:
    parts, vectors = made(document)
    with SegmentWriter(folder, RECIPE) as writer:
        writer.add_document(document, "", parts)
        writer.add_vectors(vectors)
        return Segment(folder, writer.finish().manifest_sha256)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.id)
def test_every_array_is_that_of_the_written_segment(tmp_path: Path, document: Document) -> None:
    expected, segment = written(tmp_path / "segment", document), MemorySegment(document, *made(document), RECIPE)
    for name in (*ARRAYS, *NUMBERS):
        one, other = getattr(segment, name), getattr(expected, name)
        assert one.dtype == other.dtype, name
        np.testing.assert_array_equal(one, other, name)
    assert all(not getattr(segment, name).flags.writeable for name in ARRAYS if len(getattr(segment, name)))
    assert segment.manifest.units == expected.manifest.units
    assert segment.has_borders
    for boundary in ("clause", "sentence", "part"):
        np.testing.assert_array_equal(segment.whole_spans[boundary], expected.whole_spans[boundary])


@pytest.mark.parametrize("document", DOCUMENTS[:2], ids=lambda document: document.id)
@pytest.mark.parametrize("unit", ["codepoint", "utf16", "byte"])
def test_texts_offsets_and_metadata_are_those_of_the_written_segment(
    tmp_path: Path, document: Document, unit: OffsetUnit
) -> None:
    expected, segment = written(tmp_path / "segment", document), MemorySegment(document, *made(document), RECIPE)
    assert segment.document_id(0) == document.id
    assert segment.document_metadata(0) == expected.document_metadata(0)
    for part in range(len(document.parts)):
        assert segment.part_span(part) == expected.part_span(part)
        assert segment.part_metadata(part) == expected.part_metadata(part)
    for first in range(0, segment.manifest.units - 2, 7):
        span = segment.char_span(UnitSpan(first, first + 2))
        assert span == expected.char_span(UnitSpan(first, first + 2))
        assert segment.text(0, span) == expected.text(0, span) == document.text[span.start : span.end]
        assert segment.offset(0, span.end, unit) == expected.offset(0, span.end, unit)
    assert segment.text(0, CharSpan(0, len(document.text))) == document.text


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(texts, max_size=3), max_size=6))
def test_every_text_has_the_vectors_of_its_own_units(parts: list[list[str]]) -> None:
    encoder = HashingEncoder(window=64)
    recipe = Recipe("hashing", encoder.fingerprint, encoder.dim)
    documents = [Document(str(n), tuple(map(Part, of_text))) for n, of_text in enumerate(parts)]
    together = segments(encoder, documents, recipe)
    assert [segment.document_id(0) for segment in together] == [document.id for document in documents]
    for document, segment in zip(documents, together, strict=True):
        (alone,) = segments(encoder, [document], recipe)
        np.testing.assert_array_equal(segment.vectors, alone.vectors)
        np.testing.assert_array_equal(segment.scales, alone.scales)
        assert segment.manifest.units == sum(len(units.split(part.text)) for part in document.parts)


class Spelling(HashingEncoder):
    """Reads every character as a token."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        numbers = [np.arange(len(text)) for text in texts]
        return [
            Tokens(of_text.astype(np.int32), np.stack([of_text, of_text + 1], axis=1), np.zeros(len(of_text), bool))
            for of_text in numbers
        ]


def test_a_text_that_cannot_be_read_is_named_by_its_number() -> None:
    encoder = Spelling(window=3)
    recipe = Recipe("hashing", encoder.fingerprint, encoder.dim)
    documents = [Document("a", (Part("yes no"),)), Document("b", (Part("sesquipedalian"),))]
    with pytest.raises(InvalidInput, match="14 tokens; the encoder reads 3") as refused:
        list(segments_in_memory(encoder, documents, recipe, 40))
    assert refused.value.field == "texts[41]"


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(texts | st.just(""), max_size=12))
def test_words_in_memory_are_those_of_the_files(contents: list[str]) -> None:
    words = [word for text in contents for word in folded_units(text, units.split(text))]
    with TemporaryDirectory() as folder:
        writer = WordWriter(Path(folder))
        writer.append(WordRows(words))
        expected, stored = StoredWords.open(Path(folder), writer.finish()), StoredWords.of(words)
        assert (len(stored), stored.terms) == (len(expected), expected.terms)
        for number in range(1, stored.terms + 1):
            assert stored.term(number) == expected.term(number)
            assert stored.number(stored.term(number)) == number
            np.testing.assert_array_equal(stored.units(number), expected.units(number))
        np.testing.assert_array_equal(stored.of_units, expected.of_units)
        assert stored.of_units.dtype == expected.of_units.dtype
