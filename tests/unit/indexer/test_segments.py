"""What a segment holds is what was written; what is not what was written is found."""

import hashlib
import json
import random
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from indexer.errors import SegmentCorrupt
from indexer.nuggets import files as nugget_files
from indexer.nuggets.recipe import NuggetRecipe, with_nuggets
from indexer.nuggets.representation import stored_nuggets
from indexer.nuggets.rows import NuggetRows
from indexer.segments import layout
from indexer.segments.local import LocalSegments
from indexer.segments.manifest import damages, read_manifest
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Recipe, SegmentInfo
from models.ops.quantization import dequantize
from models.text import units
from models.types import CharSpan, Document, Metadata, Part, SpanBounds, UnitSpan

DIM = 6
PLAIN = Recipe("hashing", "fingerprint", DIM, SpanBounds(1, 4))
RECIPE = with_nuggets(PLAIN, NuggetRecipe("nuggets", 5, 0.3))
DOCUMENTS = [
    Document("a", (Part("Hallo, 😀 Welt.\r\n", {"turn": 1}), Part("", {"turn": None}), Part("\0é")), {"kind": "x"}),
    Document("empty", ()),
    Document("é" * 512, (Part("中文 " * 9000),), {"kind": "x", "deep": {"a": [1, None, True]}}),
    Document("blank", (Part(" \n "), Part(""))),
]


def nuggets_of(vectors: np.ndarray) -> NuggetRows:
    """Every third unit has a nugget, which stands at characters that are twice its number."""
    numbers = np.arange(0, len(vectors), 3)
    return NuggetRows(vectors[numbers, :5], np.stack([2 * numbers, 2 * numbers + 1], axis=1), numbers)


def write(
    folder: Path, documents: list[Document], seed: int = 1, recipe: Recipe = RECIPE
) -> tuple[SegmentInfo, np.ndarray]:
    rng = np.random.default_rng(seed)
    written = [np.zeros((0, DIM), np.float32)]
    with SegmentWriter(folder, recipe) as writer:
        for document in documents:
            parts = [PartUnits(units.split(part.text), 1) for part in document.parts]
            writer.add_document(document, f"hash of {document.id}", parts)
            count = sum(len(part.spans) for part in parts)
            # In two runs, as a very long document's come.
            for size in (count // 3, count - count // 3):
                vectors = rng.normal(size=(size, DIM)).astype(np.float32)
                writer.add_vectors(vectors, {"nuggets": nuggets_of(vectors)} if recipe.details else None)
                written.append(vectors)
        return writer.finish(), np.concatenate(written)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SegmentInfo, np.ndarray]:
    folder = tmp_path_factory.mktemp("segments") / "one"
    return folder, *write(folder, DOCUMENTS)


@pytest.fixture
def copied(written: tuple[Path, SegmentInfo, np.ndarray], tmp_path: Path) -> tuple[Path, str]:
    return Path(shutil.copytree(written[0], tmp_path / "copy")), written[1].manifest_sha256


def same(one: Metadata, other: Metadata) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def test_everything_comes_back(written: tuple[Path, SegmentInfo, np.ndarray]) -> None:
    folder, info, vectors = written
    segment = Segment(folder, info.manifest_sha256)
    part = 0
    for number, document in enumerate(DOCUMENTS):
        assert segment.document_id(number) == document.id
        assert same(segment.document_metadata(number), document.metadata)
        assert segment.text(number, CharSpan(0, len(document.text))) == document.text
        start = 0
        for given in document.parts:
            span = CharSpan(start, start + len(given.text))
            assert segment.part_document[part] == number
            assert segment.part_span(part) == span
            assert segment.text(number, span) == given.text
            assert same(segment.part_metadata(part), given.metadata)
            first, last = segment.part_units[part : part + 2]
            found = segment.unit_spans[first:last].astype(np.int64) - start
            np.testing.assert_array_equal(found, units.split(given.text))
            start, part = start + len(given.text) + 1, part + 1
    step = segment.scales[:, None]
    assert (np.abs(dequantize(segment.vectors, segment.scales) - vectors) <= step * 0.501).all()


def test_nuggets_come_back(written: tuple[Path, SegmentInfo, np.ndarray]) -> None:
    folder, info, vectors = written
    segment = Segment(folder, info.manifest_sha256)
    stored = dequantize(stored_nuggets(segment).codes, stored_nuggets(segment).scales).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 1, atol=1e-6)
    given = vectors[stored_nuggets(segment).units, :5].astype(np.float64)
    cosines = (stored * given).sum(axis=1) / np.linalg.norm(given, axis=1)
    assert cosines.min() > 0.999
    assert len(stored_nuggets(segment)) == segment.manifest.rows["nuggets"] > len(vectors) / 3 - 1
    assert (np.diff(stored_nuggets(segment).units.astype(np.int64)) > 0).all()
    bounds = stored_nuggets(segment).document_bounds(segment.document_units)
    for number in range(len(DOCUMENTS)):
        of_document = stored_nuggets(segment).units[bounds[number] : bounds[number + 1]]
        first, last = segment.document_units[number : number + 2]
        assert set(of_document) == set(stored_nuggets(segment).units) & set(range(first, last))


def test_a_collection_without_nuggets_has_no_trace_of_them(tmp_path: Path) -> None:
    info, _ = write(tmp_path / "plain", DOCUMENTS, recipe=PLAIN)
    assert "nugget" not in (tmp_path / "plain" / layout.MANIFEST).read_text("utf-8")
    assert not [path for path in (tmp_path / "plain").iterdir() if "nugget" in path.name]
    segment = Segment(tmp_path / "plain", info.manifest_sha256)
    assert segment.stored == {}
    assert segment.manifest.recipe == PLAIN


def test_counts(written: tuple[Path, SegmentInfo, np.ndarray]) -> None:
    folder, info, vectors = written
    manifest = read_manifest(folder, info.manifest_sha256)
    assert (info.documents, info.parts, info.units) == (4, 6, len(vectors))
    assert (manifest.documents, manifest.parts, manifest.units) == (4, 6, len(vectors))
    assert manifest.unknown_units == 6
    assert manifest.recipe == RECIPE
    assert manifest.code_points == sum(len(document.text) for document in DOCUMENTS)
    assert info.bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert manifest.bytes == info.bytes - (folder / layout.MANIFEST).stat().st_size
    assert set(manifest.files) | {layout.MANIFEST} == {path.name for path in folder.iterdir()}


def test_offsets_in_other_units(written: tuple[Path, SegmentInfo, np.ndarray]) -> None:
    segment = Segment(written[0], written[1].manifest_sha256)
    for number, document in enumerate(DOCUMENTS):
        for at in {0, len(document.text) // 3, len(document.text)}:
            before = document.text[:at]
            assert segment.offset(number, at, "codepoint") == at
            assert segment.offset(number, at, "byte") == len(before.encode())
            assert segment.offset(number, at, "utf16") == len(before.encode("utf-16-le")) // 2


def test_parts_of_units(written: tuple[Path, SegmentInfo, np.ndarray]) -> None:
    segment = Segment(written[0], written[1].manifest_sha256)
    for part, (first, last) in enumerate(zip(segment.part_units[:-1], segment.part_units[1:], strict=True)):
        assert all(segment.part_of(unit) == part for unit in range(first, min(last, first + 50)))
    assert segment.char_span(UnitSpan(0, 3)) == CharSpan(0, 8)


def test_the_same_documents_make_the_same_bits(tmp_path: Path) -> None:
    one, other = (write(tmp_path / name, DOCUMENTS)[0].manifest_sha256 for name in ("one", "other"))
    assert one == other


def test_an_empty_segment(tmp_path: Path) -> None:
    info, _ = write(tmp_path / "none", [])
    segment = Segment(tmp_path / "none", info.manifest_sha256)
    assert len(segment.part_units) == 1
    assert segment.norm_codes.shape == (0, 4, layout.BLOCK)
    assert list(damages(tmp_path / "none", info.manifest_sha256)) == []


def test_what_was_announced_must_come(tmp_path: Path) -> None:
    with SegmentWriter(tmp_path / "half", RECIPE) as writer:
        writer.add_document(DOCUMENTS[0], "", [PartUnits(units.split(part.text), 0) for part in DOCUMENTS[0].parts])
        assert not writer.is_whole
        with pytest.raises(AssertionError, match="announced"):
            writer.finish()


def test_a_folder_is_never_written_twice(tmp_path: Path) -> None:
    write(tmp_path / "one", DOCUMENTS[:1])
    with pytest.raises(FileExistsError):
        SegmentWriter(tmp_path / "one", RECIPE)


def test_removing_what_is_not_there_is_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    LocalSegments(tmp_path).remove("c", "gone")
    assert caplog.text == ""


def test_any_flipped_bit_is_found(copied: tuple[Path, str]) -> None:
    folder, sha256 = copied
    assert list(damages(folder, sha256)) == []
    rng = random.Random(7)
    for path in sorted(folder.iterdir()):
        body = path.read_bytes()
        for position in {0, len(body) - 1, *(rng.randrange(len(body)) for _ in range(6))}:
            flipped = bytearray(body)
            flipped[position] ^= 1 << rng.randrange(8)
            path.write_bytes(flipped)
            (sentence,) = damages(folder, sha256)
            assert path.name in sentence
        path.write_bytes(body)
    assert list(damages(folder, sha256)) == []


def file_names(module: ModuleType) -> set[str]:
    constants = [value for name, value in vars(module).items() if name.isupper()]
    return {value for value in constants if isinstance(value, str) and "." in value}


# Few segments have indexes: they have tests of their own.
NAMES = sorted((file_names(layout) | file_names(nugget_files)) - {layout.WINDOWS, nugget_files.INDEX})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("harm", ["missing", "cut", "grown"])
def test_a_file_that_is_missing_or_of_another_size(copied: tuple[Path, str], name: str, harm: str) -> None:
    folder, sha256 = copied
    path = folder / name
    body = path.read_bytes()
    path.unlink()
    if harm != "missing":
        path.write_bytes(body[:-1] if harm == "cut" else body + b"\0")
    (sentence,) = damages(folder, sha256)
    assert name in sentence or harm == "missing"
    with pytest.raises(SegmentCorrupt) as caught:
        Segment(folder, sha256)
    assert caught.value.hint


def test_all_damage_is_listed(copied: tuple[Path, str]) -> None:
    folder, sha256 = copied
    (folder / layout.TEXT).unlink()
    (folder / layout.SCALES).write_bytes(b"")
    assert len(list(damages(folder, sha256))) == 2


def test_the_manifest_of_another_segment(copied: tuple[Path, str], tmp_path: Path) -> None:
    folder, sha256 = copied
    write(tmp_path / "other", DOCUMENTS, seed=2)
    shutil.copy(tmp_path / "other" / layout.MANIFEST, folder / layout.MANIFEST)
    with pytest.raises(SegmentCorrupt, match="not the one that was published"):
        Segment(folder, sha256)
    assert len(list(damages(folder, sha256))) == 1


def test_a_format_from_the_future(copied: tuple[Path, str]) -> None:
    path = copied[0] / layout.MANIFEST
    body = json.dumps({"format": 99, "what": "nobody knows yet"}).encode()
    path.write_bytes(body)
    sha256 = hashlib.sha256(body).hexdigest()
    with pytest.raises(SegmentCorrupt, match="format 99") as caught:
        Segment(copied[0], sha256)
    assert caught.value.hint
    assert "format 99" in next(iter(damages(copied[0], sha256)))


def test_the_layout_names_every_file(written: tuple[Path, SegmentInfo, np.ndarray]) -> None:
    assert set(NAMES) == {path.name for path in written[0].iterdir()}
    assert layout.__doc__
    for module in (layout, nugget_files):
        assert all(f"``{name}``" in module.__doc__ for name in file_names(module))
