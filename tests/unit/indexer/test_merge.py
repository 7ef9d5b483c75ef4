"""A merged segment is, bit for bit, the segment that would have been written of the live documents."""

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.nuggets.recipe import NuggetRecipe, with_nuggets
from indexer.nuggets.rows import NuggetRows
from indexer.segments import layout
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Recipe
from models.text import units
from models.types import Document, Part, SpanBounds
from tests import strategies
from tests.examples import examples
from tests.memory import peaks_of

DIM = 4
PLAIN = Recipe("hashing", "fingerprint", DIM, SpanBounds(1, 6))
RECIPE = with_nuggets(PLAIN, NuggetRecipe("nuggets", DIM, 0.5))
_number = count()

parts = st.lists(st.builds(Part, strategies.texts, strategies.metadata), max_size=3).map(tuple)
documents = st.lists(st.tuples(parts, strategies.metadata, st.booleans()), max_size=5)


def write(folder: Path, documents: list[Document]) -> Segment:
    """A segment whose vectors depend on documents alone, not on where they lie."""
    with SegmentWriter(folder, RECIPE) as writer:
        for document in documents:
            spans = [units.split(part.text) for part in document.parts]
            writer.add_document(document, f"hash of {document.id}", [PartUnits(each, 0) for each in spans])
            seed = int(document.id.rpartition(" ")[2])
            vectors = np.random.default_rng(seed).normal(size=(sum(map(len, spans)), DIM))
            writer.add_vectors(vectors.astype(np.float32), {"nuggets": nuggets_of(vectors.astype(np.float32), seed)})
        return Segment(folder, writer.finish().manifest_sha256)


def nuggets_of(vectors: np.ndarray, seed: int) -> NuggetRows:
    """Of no, some or all units."""
    numbers = np.flatnonzero(np.random.default_rng(seed + 1).random(len(vectors)) < seed % 3 / 2)
    return NuggetRows(vectors[numbers], np.stack([numbers, numbers + 1], axis=1), numbers)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merge")


def merged(folder: Path, segments: list[list[tuple[Document, bool]]]) -> tuple[Path, Path]:
    """Folders of what was merged, and of what should come out."""
    sources = []
    for pairs in segments:
        segment = write(folder / f"source-{next(_number)}", [document for document, _ in pairs])
        sources.append(Source(segment, np.array([live for _, live in pairs], bool)))
    result = folder / f"merged-{next(_number)}"
    info, rows = merge(result, RECIPE, sources)
    living = [document for pairs in segments for document, live in pairs if live]
    assert [(row.document_id, row.ordinal, row.content_hash) for row in rows] == [
        (document.id, ordinal, f"hash of {document.id}") for ordinal, document in enumerate(living)
    ]
    expected = write(folder / f"expected-{next(_number)}", living)
    assert (info.documents, info.units) == (len(living), expected.manifest.units)
    assert Segment(result, info.manifest_sha256).manifest == expected.manifest
    return result, expected.folder


@settings(max_examples=examples(25))
@given(st.lists(documents, min_size=1, max_size=3))
def test_any_merge_is_what_would_have_been_written(folder: Path, drawn) -> None:
    numbers = count()
    segments = [
        [(Document(f"document {next(numbers)}", parts, metadata), live) for parts, metadata, live in pairs]
        for pairs in drawn
    ]
    result, expected = merged(folder, segments)
    assert contents(result) == contents(expected)


def long(number: int, words: int, gap: int = 1) -> Document:
    text = ("wörd" + " " * gap) * words
    return Document(f"long {number}", (Part(text, {"n": number}), Part("end")), {"kind": "long"})


def test_what_is_longer_than_a_piece(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.segments.merge._UNITS_A_PIECE", 7)
    monkeypatch.setattr("indexer.segments.merge._CODE_POINTS_A_PIECE", 1_000)
    pairs = [(long(number, 5_000), number != 1) for number in range(3)]
    result, expected = merged(folder, [pairs, [(long(7, 10), True)]])
    assert contents(result) == contents(expected)


def test_nothing_of_the_dead_is_left(folder: Path) -> None:
    dead = Document("dead 1", (Part("unheard-of", {"part secret": "x1"}),), {"document secret": "x2"})
    result, _ = merged(folder, [[(dead, False), (long(2, 3), True)]])
    (text,) = {Segment(result, sha_of(result)).long_text(0, 10_000)}
    everything = b"".join(contents(result).values()) + text.encode()
    assert b"w\xc3\xb6rd" in everything
    for secret in (b"dead 1", b"unheard-of", b"secret", b"x1", b"x2"):
        assert secret not in everything


def sha_of(folder: Path) -> str:
    import hashlib

    return hashlib.sha256((folder / layout.MANIFEST).read_bytes()).hexdigest()


def merge_in_small_pieces(folder: Path, sha256: str) -> None:
    """Merge a segment of two documents, a thousand units at a time."""
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory() as made:
        patched.setattr("indexer.segments.merge._UNITS_A_PIECE", 1_024)
        patched.setattr("indexer.segments.merge._CODE_POINTS_A_PIECE", layout.TEXT_BLOCK)
        patched.setattr("indexer.segments.norms._BLOCKS_A_PASS", 4)
        merge(Path(made) / "merged", RECIPE, [Source(Segment(folder, sha256), np.ones(2, bool))])


@pytest.mark.ci("many documents")
def test_memory_does_not_grow_with_the_units(folder: Path) -> None:
    segments = [folder / "small", folder / "large"]
    for path, words in zip(segments, (4_000, 12_000), strict=True):
        write(path, [long(number, words, gap=100) for number in range(2)])
    small, large = peaks_of(merge_in_small_pieces, *((path, sha_of(path)) for path in segments))
    assert large < 1.3 * small
