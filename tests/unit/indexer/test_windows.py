"""Windows: where they lie, and what becomes of them on the way through FAISS."""

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.ann.windows import open_windows, window_lengths, window_spans, write_windows
from indexer.errors import SegmentCorrupt
from indexer.segments import layout
from indexer.segments.manifest import damages
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Recipe
from models.types import Document, Part, SpanBounds

DIM = 16
PARTS = [0, 700, 1, 2, 0, 800]


def vectors_of(units: int, seed: int = 0) -> np.ndarray:
    """Like a text: what stands together points the same way."""
    rng = np.random.default_rng(seed)
    topics = rng.normal(size=(-(-units // 10), DIM))
    return (np.repeat(topics, 10, axis=0)[:units] + 0.3 * rng.normal(size=(units, DIM))).astype(np.float32)


def segment(folder: Path, vectors: np.ndarray, parts: list[int] = PARTS, dim: int = DIM) -> Segment:
    """A segment of one document, with windows: made as a merge makes them."""
    recipe = Recipe("none", "none", dim)
    with SegmentWriter(folder / "plain", recipe) as writer:
        spans = [np.stack([np.arange(n) * 2, np.arange(n) * 2 + 1], axis=1) for n in parts]
        document = Document("a", tuple(Part(" ".join("x" * n)) for n in parts))
        writer.add_document(document, "", [PartUnits(of_part, 0) for of_part in spans])
        writer.add_vectors(vectors)
        plain = Segment(folder / "plain", writer.finish().manifest_sha256)
    merged = folder / f"merged-{folder.name}"
    info, _ = merge(merged, recipe, [Source(plain, np.ones(1, bool))], [write_windows])
    return Segment(merged, info.manifest_sha256)


@given(st.lists(st.integers(0, 40), max_size=6), st.tuples(st.integers(1, 30), st.integers(0, 30)))
def test_windows_cover_every_unit_and_leave_no_part(sizes: list[int], bounds: tuple[int, int]) -> None:
    wanted = SpanBounds(bounds[0], bounds[0] + bounds[1])
    part_units = np.cumsum([0, *sizes])
    windows = window_spans(part_units, wanted).tolist()
    lengths = window_lengths(wanted)
    for first, end in pairwise(part_units.tolist()):
        inside = [(a, b) for a, b in windows if first <= a < end]
        assert all(b <= end for _, b in inside)
        assert all(b - a == min(end - first, b - a) and (b - a in lengths or b - a == end - first) for a, b in inside)
        for length in lengths:
            covered = {unit for a, b in inside if b - a == min(length, end - first) for unit in range(a, b)}
            assert covered == set(range(first, end))
    assert len(windows) == len(set(map(tuple, windows)))


def test_the_nearest_windows_are_found_and_named_by_their_starts(tmp_path: Path) -> None:
    vectors = vectors_of(sum(PARTS))
    opened = open_windows(segment(tmp_path, vectors))
    assert opened.windows == len(window_spans(np.cumsum([0, *PARTS]), SpanBounds()))
    found = 0
    for start in range(0, 690, 30):
        query = vectors[start : start + 7].sum(axis=0)
        nearest, cosines = opened.nearest((query / np.linalg.norm(query))[None], 20, 0.5)
        assert nearest.shape == cosines.shape == (1, 20)
        found += bool((np.abs(nearest - start) < 7).any())
    assert found >= 22  # of 23


def test_the_same_vectors_give_the_same_file(tmp_path: Path) -> None:
    vectors = vectors_of(sum(PARTS))
    first, second = segment(tmp_path / "1", vectors), segment(tmp_path / "2", vectors)
    assert first.manifest.files[layout.WINDOWS] == second.manifest.files[layout.WINDOWS]


@pytest.mark.parametrize(
    ("vectors", "parts", "dim"),
    [
        (np.zeros((sum(PARTS), DIM), np.float32), PARTS, DIM),
        (vectors_of(30), [30], DIM),
        (np.zeros((0, DIM), np.float32), [0], DIM),
        (vectors_of(sum(PARTS))[:, :15], PARTS, 15),
    ],
    ids=["vectors that cancel out", "few units", "no units", "a dimension that FAISS cannot cut"],
)
def test_what_cannot_have_windows_has_an_empty_file(
    tmp_path: Path, vectors: np.ndarray, parts: list[int], dim: int
) -> None:
    made = segment(tmp_path, vectors, parts, dim)
    assert made.manifest.files[layout.WINDOWS].bytes == len(made.windows) == 0


def test_a_flipped_bit_is_found_before_faiss_reads_it(tmp_path: Path) -> None:
    made = segment(tmp_path, vectors_of(sum(PARTS)))
    path = made.folder / layout.WINDOWS
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(SegmentCorrupt, match="windows"):
        open_windows(made)
    assert any("windows" in damage for damage in damages(made.folder, manifest_sha256(made)))


def manifest_sha256(made: Segment) -> str:
    return hashlib.sha256((made.folder / layout.MANIFEST).read_bytes()).hexdigest()
