"""Ways to find candidates: each finds what it should, and their rows say so."""

import json

import numpy as np
import pytest

from indexer.kernels.common import RUN, RUNS
from indexer.segments.layout import BLOCK
from models.errors import InvalidInput
from models.ops.quantization import dequantize
from models.ops.similarity import normalize
from research.benchmarks import candidates
from research.benchmarks.candidates import as_table, measure, only_segment, share_found
from research.benchmarks.plots import save_fronts
from research.benchmarks.sketch import make_sketch, two_bits
from research.benchmarks.ways import WAYS, Finder, Setting, Way, ways

EVERYTHING = Setting(10_000, 10_000)
KEYS = {"way", "units", "visited", "taken", "found", "p50_ms", "p99_ms", "blocks", "bytes_per_unit", "build_s"}


@pytest.fixture(scope="module")
def segment(small):
    return only_segment(small)


@pytest.fixture(scope="module")
def units(segment) -> np.ndarray:
    return dequantize(segment.vectors, segment.scales)


class Elsewhere(Finder):
    nbytes = 1200

    def blocks(self, query: np.ndarray, setting: Setting) -> np.ndarray:
        return np.array([99])


@pytest.mark.parametrize("name", WAYS)
def test_a_way_finds_where_a_phrase_stands_and_everywhere_finds_all(name, small, segment, units) -> None:
    """The phrase has a vector of its own in the index: in the second block, it begins with a word that stands once."""
    finder = WAYS[name].build(segment)
    once = [n for n, unit in enumerate(units) if (units == unit).all(axis=1).sum() == 1]
    length = 1 if name.startswith("units") else 3
    middle = segment.part_units[(segment.part_units > BLOCK) & (segment.part_units < 2 * BLOCK)][1:-1].tolist()
    start = next(n for n in once if any(first + 4 <= n < first + 12 for first in middle[:-1]))
    phrase = normalize(units[start : start + length].sum(axis=0)).astype(np.float32)
    assert finder.blocks(phrase, Setting(64, 1)).tolist() == [1]
    found = [finder.blocks(query, EVERYTHING) for query in small.queries.vectors]
    assert [blocks.tolist() for blocks in found] == [[0, 1, 2]] * len(found)
    assert finder.nbytes > segment.manifest.units * 8


def test_names_say_what_is_indexed_and_how() -> None:
    assert {"units_pq", "units_rabitq", "windows5_pq", "windows2_pq", "windows2_rabitq_fs", "sketch"} < set(WAYS)
    assert ways("all") == list(WAYS.values())
    with pytest.raises(InvalidInput, match="'nonsense'"):
        ways("sketch,nonsense")


def test_windows_take_more_room_than_units(segment) -> None:
    sizes = [WAYS[name].build(segment).nbytes for name in ("units_pq", "windows2_pq", "windows5_pq")]
    assert sizes == sorted(sizes)


def test_a_sketch_scores_spans_by_what_it_kept(small, segment) -> None:
    """Against loops over all spans of what two bits stand for, with true norms: codes of norms are off by little."""
    sketch = make_sketch(segment)
    planes = [(sketch.codes >> shift & 3) - 1.5 for shift in (0, 2, 4, 6)]
    kept = np.concatenate(planes, axis=1) * sketch.scales[:, None] @ sketch.axes
    true = dequantize(segment.vectors, segment.scales)
    query = small.queries.vectors[0]
    best = np.full(-(-len(true) // BLOCK) * RUNS, -np.inf)
    for first, end in zip(segment.part_units[:-1].tolist(), segment.part_units[1:].tolist(), strict=True):
        for start in range(first, end):
            for stop in range(start + 1, min(end, start + segment.recipe.bounds.longest) + 1):
                cosine = kept[start:stop].sum(axis=0) @ query / np.linalg.norm(true[start:stop].sum(axis=0))
                best[start // RUN] = max(best[start // RUN], cosine)
    there = np.isfinite(best)
    assert there.sum() == -(-len(true) // RUN)
    np.testing.assert_allclose(sketch.best_of_runs(segment, query)[there], best[there], atol=0.01)


def test_a_sketch_is_near_the_truth(segment, units) -> None:
    sketch = make_sketch(segment)
    planes = [(sketch.codes >> shift & 3) - 1.5 for shift in (0, 2, 4, 6)]
    kept = np.concatenate(planes, axis=1) * sketch.scales[:, None] @ sketch.axes
    cosines = (normalize(kept) * normalize(units)).sum(axis=1)
    assert cosines.min() > 0.85  # one bit would leave 0.8 on average
    np.testing.assert_allclose((kept * units).sum(axis=1), np.square(units).sum(axis=1), rtol=1e-3)


def test_a_vector_without_length_has_no_scale() -> None:
    codes, scales = two_bits(np.zeros((2, 8), np.float32))
    assert codes.shape == (2, 2)
    assert scales.tolist() == [0.0, 0.0]


def test_what_lies_elsewhere_is_not_found(small) -> None:
    astray = Way("astray", "", (Setting(1, 1),), lambda segment: Elsewhere())
    (row,) = measure(small, [astray], 8, 1)
    assert (row.found, row.blocks, row.bytes_per_unit) == (0.0, 1.0, round(1200 / small.info.units, 1))
    assert share_found(np.full((10, 2), -1), np.array([0])) == 1.0


def test_rows_of_a_way(small, capsys, monkeypatch, tmp_path) -> None:
    plot = tmp_path / "new" / "fronts.svg"
    line = f"candidates --case {small.folder} --ways sketch,units_pq --queries 4 --json --plot {plot}"
    monkeypatch.setattr("sys.argv", line.split())
    candidates.main()
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["way"], row["queries"]) for row in rows] == [("sketch", 4)] * 3 + [("units_pq", 4)] * 5
    assert all(row.keys() >= KEYS and 0 <= row["found"] <= 1 and row["p50_ms"] > 0 for row in rows)
    assert rows[2]["found"] == 1.0  # 800 runs are all
    assert as_table(rows).row_count == 8
    assert "sketch" in plot.read_text("utf-8")


def test_a_plot_needs_no_second_measurement(tmp_path) -> None:
    save_fronts(tmp_path / "fronts.svg", [{"way": "kept", "p50_ms": 1.0, "found": 0.5}])
    assert "kept" in (tmp_path / "fronts.svg").read_text("utf-8")


def test_a_case_of_several_segments_is_refused(segmented) -> None:
    with pytest.raises(InvalidInput, match="segments"):
        only_segment(segmented)
