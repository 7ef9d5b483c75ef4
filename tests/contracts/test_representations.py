"""The contract of representations. An entry point enrols one, with its default options."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from indexer.engine.views import SegmentView
from indexer.errors import SegmentCorrupt
from indexer.indexing.encode import EncodedDocuments, encode, split
from indexer.representations.base import Representation, RowWriter, Wanted
from indexer.representations.registry import representation, representations
from indexer.segments.manifest import damages
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.segments.writer import SegmentWriter
from indexer.types import Recipe
from models.encoders.hashing import HashingEncoder
from models.types import Document, Part, SpanBounds
from tests.workspace import document, encoders_of

ENCODER = HashingEncoder(dim=8, window=16)
MODELS = encoders_of(ENCODER)

DOCUMENTS = [
    document("first", "one two three four five", "six seven", kind="a"),
    document("empty"),
    document("long", " ".join(f"word{number}" for number in range(120))),
    document("blank", "", "eight"),
    document("last", "nine ten eleven 😀 twelve"),
]


class Case:
    """One representation, and segments of a recipe that has it alone besides units."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        found = representation(name)
        details = {name: found.details(Wanted(found.options(), "hashing"), MODELS)}
        self.recipe = Recipe("hashing", ENCODER.fingerprint, 8, SpanBounds(1, 6), details)
        self.forward = MODELS.forward_pass(self.recipe)
        self._numbers = count()

    def path(self) -> Path:
        return self.folder / f"{self.name}-{next(self._numbers)}"

    def encoded(self, documents: Sequence[Document], batch_tokens: int = 64) -> Iterator[EncodedDocuments]:
        items = split(ENCODER, [(each, f"hash of {each.id}") for each in documents])
        return encode(ENCODER, items, batch_tokens, self.forward)

    def write(self, documents: Sequence[Document], batch_tokens: int = 64) -> Segment:
        with SegmentWriter(self.path(), self.recipe) as writer:
            for pool in self.encoded(documents, batch_tokens):
                for item in pool.documents:
                    writer.add_document(item.document, item.content_hash, item.part_units)
                writer.add_vectors(pool.vectors, pool.rows)
            return Segment(writer.folder, writer.finish().manifest_sha256)

    def merge(self, *parts: tuple[Segment, set[str]]) -> Segment:
        """The documents of these segments but for the named ones."""
        sources = []
        for segment, dead in parts:
            ids = [segment.document_id(row) for row in range(segment.manifest.documents)]
            tombstones = np.array([row for row, id in enumerate(ids) if id in dead], np.int64)
            sources.append(Source(segment, SegmentView(segment, tombstones).live_documents))
        folder = self.path()
        return Segment(folder, merge(folder, self.recipe, sources)[0].manifest_sha256)


@pytest.fixture(params=representations())
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Case(request.param, tmp_path)


def contents(segment: Segment) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in segment.folder.iterdir()}


def own_files(case: Case, segment: Segment) -> list[Path]:
    """Files that a segment of units alone does not have."""
    folder = case.path()
    with SegmentWriter(folder, Recipe("hashing", ENCODER.fingerprint, 8, SpanBounds(1, 6))) as writer:
        writer.finish()
    return sorted(path for path in segment.folder.iterdir() if not (folder / path.name).exists())


def test_it_is_what_the_protocol_says(case: Case) -> None:
    found = representation(case.name)
    assert isinstance(found, Representation)
    assert found.name == case.name
    assert case.forward.details.keys() == {case.name}
    assert isinstance(case.forward.details[case.name]["fingerprint"], str)


def test_what_is_written_is_counted_and_opened(case: Case) -> None:
    segment = case.write(DOCUMENTS)
    rows = sum(len(pool.rows[case.name]) for pool in case.encoded(DOCUMENTS))
    assert segment.manifest.rows == {case.name: rows}
    assert rows > 0
    assert len(segment.stored[case.name]) == rows
    assert segment.recipe == case.recipe
    assert own_files(case, segment)
    assert list(damages(segment.folder, sha256_of(segment))) == []


def test_batches_make_no_difference(case: Case) -> None:
    assert contents(case.write(DOCUMENTS, 4096)) == contents(case.write(DOCUMENTS, 16))


@pytest.mark.parametrize("dead", [set(), {"first"}, {"long", "blank"}, {"last"}])
def test_a_merge_is_what_would_have_been_written(case: Case, dead: set[str]) -> None:
    merged = case.merge((case.write(DOCUMENTS[:3]), dead), (case.write(DOCUMENTS[3:]), dead))
    written = case.write([each for each in DOCUMENTS if each.id not in dead])
    assert contents(merged) == contents(written)


def test_merging_twice_is_merging_once(case: Case) -> None:
    one, two = case.write(DOCUMENTS[:3]), case.write(DOCUMENTS[3:])
    twice = case.merge((case.merge((one, set()), (two, set())), {"first"}))
    assert contents(twice) == contents(case.write(DOCUMENTS[1:]))


@pytest.mark.parametrize("documents", [[], [Document("empty", ())], [Document("blank", (Part(""), Part(" ")))]])
def test_a_segment_without_units(case: Case, documents: list[Document]) -> None:
    segment = case.write(documents)
    assert segment.manifest.rows == {case.name: 0}
    assert len(segment.stored[case.name]) == 0
    assert contents(case.merge((segment, set()))) == contents(segment)


def test_a_flipped_bit_and_a_cut_file_are_found(case: Case) -> None:
    segment = case.write(DOCUMENTS)
    for path in own_files(case, segment):
        body = path.read_bytes()
        path.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
        (sentence,) = damages(segment.folder, sha256_of(segment))
        assert path.name in sentence
        path.write_bytes(body[:-1])
        with pytest.raises(SegmentCorrupt, match=path.name):
            Segment(segment.folder, sha256_of(segment))
        path.write_bytes(body)
    assert list(damages(segment.folder, sha256_of(segment))) == []


def test_what_is_open_outlives_its_files(case: Case) -> None:
    segment, again = case.write(DOCUMENTS), case.write(DOCUMENTS)
    shutil.rmtree(segment.folder)
    assert contents(case.merge((again, set()))) == contents(again)
    folder = case.path()
    live = Source(segment, np.ones(len(DOCUMENTS), bool))
    assert merge(folder, case.recipe, [live])[0].units == again.manifest.units
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents(again)


def test_a_writer_that_is_left_early_closes_its_files(case: Case) -> None:
    folder = case.path()
    folder.mkdir()
    writer = representation(case.name).write(folder, case.recipe.details[case.name])
    assert isinstance(writer, RowWriter)
    writer.close()
    writer.close()


def sha256_of(segment: Segment) -> str:
    return hashlib.sha256((segment.folder / "manifest.json").read_bytes()).hexdigest()
