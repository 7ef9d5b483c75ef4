"""Candidate indexes: each selects the right blocks, and their rows say so."""

import json

import numpy as np
import pytest

from indexer.segments.layout import BLOCK
from models.errors import InvalidInput
from models.ops.quantization import dequantize
from models.ops.similarity import normalize
from research.benchmarks import candidates
from research.benchmarks.candidate_indexes import CANDIDATE_INDEXES, CandidateIndex, Setting, candidate_indexes
from research.benchmarks.candidates import as_table, block_recall, measure, only_segment
from research.benchmarks.plots import save_fronts

EVERYTHING = Setting(10_000, 10_000)
KEYS = {"index", "units", "lists", "windows", "recall", "p50_ms", "p99_ms", "blocks", "bytes_per_unit", "build_s"}


@pytest.fixture(scope="module")
def segment(small):
    return only_segment(small)


@pytest.fixture(scope="module")
def units(segment) -> np.ndarray:
    return dequantize(segment.vectors, segment.scales)


class Elsewhere:
    nbytes = 1200

    def blocks(self, query: np.ndarray, setting: Setting) -> np.ndarray:
        return np.array([99])


@pytest.mark.parametrize("name", CANDIDATE_INDEXES)
def test_the_block_of_a_phrase_is_selected_and_with_all_lists_every_block(name, small, segment, units) -> None:
    """The phrase has a vector of its own in the index: in the second block, it begins with a word that stands once."""
    index = CANDIDATE_INDEXES[name].build(segment)
    once = [n for n, unit in enumerate(units) if (units == unit).all(axis=1).sum() == 1]
    length = 1 if name == "units" else 3
    middle = segment.part_units[(segment.part_units > BLOCK) & (segment.part_units < 2 * BLOCK)][1:-1].tolist()
    start = next(n for n in once if any(first + 4 <= n < first + 12 for first in middle[:-1]))
    phrase = normalize(units[start : start + length].sum(axis=0)).astype(np.float32)
    assert index.blocks(phrase, Setting(64, 1)).tolist() == [1]
    found = [index.blocks(query, EVERYTHING) for query in small.queries.vectors]
    assert [blocks.tolist() for blocks in found] == [[0, 1, 2]] * len(found)
    assert index.nbytes > segment.manifest.units * 8


def test_unknown_names_are_refused() -> None:
    assert candidate_indexes("all") == list(CANDIDATE_INDEXES.values())
    with pytest.raises(InvalidInput, match="'nonsense'"):
        candidate_indexes("units,nonsense")


def test_windows_take_more_room_than_units(segment) -> None:
    units, windows = (CANDIDATE_INDEXES[name].build(segment).nbytes for name in ("units", "windows"))
    assert units < windows


def test_what_lies_elsewhere_is_not_found(small) -> None:
    astray = CandidateIndex("astray", "", (Setting(1, 1),), lambda segment: Elsewhere())
    (row,) = measure(small, [astray], 8, 1)
    assert (row.recall, row.blocks, row.bytes_per_unit) == (0.0, 1.0, round(1200 / small.info.units, 1))
    assert block_recall(np.full((10, 2), -1), np.array([0])) == 1.0


def test_rows_of_an_index(small, capsys, monkeypatch, tmp_path) -> None:
    plot = tmp_path / "new" / "fronts.svg"
    line = f"candidates --case {small.folder} --indexes windows,units --queries 4 --json --plot {plot}"
    monkeypatch.setattr("sys.argv", line.split())
    candidates.main()
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["index"], row["queries"]) for row in rows] == [("windows", 4)] * 5 + [("units", 4)] * 5
    assert all(row.keys() >= KEYS and 0 <= row["recall"] <= 1 and row["p50_ms"] > 0 for row in rows)
    assert rows[4]["recall"] == 1.0  # all lists of a small segment
    assert as_table(rows).row_count == 10
    assert "windows" in plot.read_text("utf-8")


def test_a_plot_needs_no_second_measurement(tmp_path) -> None:
    save_fronts(tmp_path / "fronts.svg", [{"index": "kept", "p50_ms": 1.0, "recall": 0.5}])
    assert "kept" in (tmp_path / "fronts.svg").read_text("utf-8")


def test_a_case_of_several_segments_is_refused(segmented) -> None:
    with pytest.raises(InvalidInput, match="segments"):
        only_segment(segmented)
