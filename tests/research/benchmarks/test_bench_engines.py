"""Engines measured on a small corpus, and what happens where one is absent."""

import json
import sys
from dataclasses import asdict, fields
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import cli
from models.errors import InvalidInput
from research.benchmarks import compare as comparing
from research.benchmarks.bandwidth import read_ms
from research.benchmarks.case import Case
from research.benchmarks.compare import Options, compare, run
from research.benchmarks.engines.base import Refused
from research.benchmarks.engines.registry import ENGINES, entries
from research.benchmarks.processes import EngineSkipped, python_of, run_module
from research.benchmarks.rows import Evaluator
from research.benchmarks.spans import best_spans
from research.benchmarks.worker import measure
from research.cli.bench import bench
from tests.research.benchmarks.conftest import write_source

GIB = 2**30


def measured(name: str, case: Case, folder: Path) -> Any:
    folder.mkdir()
    return measure(ENGINES[name].make(GIB), case, folder, build=True, limit_s=200)


@pytest.mark.parametrize("name", ["scan", "candidates", "faiss_flat_spans"])
def test_exact_engines_find_all(name, segmented, tmp_path) -> None:
    found = measured(name, segmented, tmp_path / "index")
    quality = Evaluator(segmented).quality("spans", found.answers, reads_vectors=True)
    assert quality.recall == 1.0
    assert quality.largest_raw_difference == pytest.approx(0, abs=1e-6)
    assert len(found.latencies_ms) == len(segmented.queries)
    assert found.build_s > 0
    assert found.peak_rss_mb > found.anonymous_mb > 0


@pytest.mark.parametrize("name", ["faiss_ivf_spans", "faiss_hnsw_spans"])
def test_approximate_engines_find_most(name, small, tmp_path) -> None:
    found = measured(name, small, tmp_path / "index")
    quality = Evaluator(small).quality("spans", found.answers, reads_vectors=True)
    assert quality.recall is not None
    assert quality.recall > 0.5


def test_words_find_passages(small, tmp_path) -> None:
    found = measured("bm25s", small, tmp_path / "index")
    passages = len(small.passage_units) - 1
    assert any(found.answers)
    assert all(0 <= number < passages for answers in found.answers for number in answers)


def test_the_sizes_of_ours_are_without_texts(small, tmp_path) -> None:
    found = measured("scan", small, tmp_path / "index")
    written = sum(path.stat().st_size for path in (tmp_path / "index").glob("*/*"))
    texts = sum(path.stat().st_size for path in (tmp_path / "index").glob("*/text*"))
    assert found.bytes == written - texts > small.info.units * small.info.dim
    assert texts > 0


def test_an_index_is_opened_without_building(small, tmp_path) -> None:
    measured("scan", small, tmp_path / "index")
    again = measure(ENGINES["scan"].make(GIB), small, tmp_path / "index", build=False, limit_s=200)
    assert again.build_s is None
    assert again.answers


def test_a_corpus_too_large_for_all_its_spans_is_refused(small, tmp_path) -> None:
    with pytest.raises(Refused, match="span vectors need"):
        ENGINES["faiss_flat_spans"].make(2**20).build(small, tmp_path)


def test_time_runs_out_after_the_first_queries(segmented, tmp_path) -> None:
    (tmp_path / "index").mkdir()
    found = measure(ENGINES["scan"].make(GIB), segmented, tmp_path / "index", build=True, limit_s=0)
    assert len(found.latencies_ms) == len(found.answers) == len(segmented.queries) == 8  # fewer than the least
    assert len(found.batches_ms) == 1


def test_more_are_asked_for_where_the_best_overlap() -> None:
    spans = np.array([[0, 9], [1, 9], [2, 9], [3, 9], [20, 30], [40, 50]])
    asked = []

    def nearest(queries: np.ndarray, count: int) -> np.ndarray:
        asked.append((len(queries), count))
        order = np.array([[0, 1, 2, 3, 4, 5], [4, 5, 0, 1, 2, 3]])
        return order[2 - len(queries) :][:, :count] if len(queries) == 2 else order[:1, :count]

    found = best_spans(nearest, spans, np.zeros((2, 4), np.float32), most=2, count=2)
    assert [of_query.tolist() for of_query in found] == [[[0, 9], [20, 30]], [[20, 30], [40, 50]]]
    assert asked == [(2, 2), (1, 6)]


def test_reading_takes_time(small) -> None:
    assert read_ms(small.codes) > 0


def test_unknown_engines_are_named() -> None:
    with pytest.raises(InvalidInput, match="'milvus'") as refused:
        entries("scan,milvus")
    assert "faiss_flat_spans" in refused.value.hint
    assert [entry.name for entry in entries("bm25s, scan")] == ["bm25s", "scan"]
    assert [entry.name for entry in entries("all")] == list(ENGINES)


def test_an_engine_without_its_environment_is_skipped(tmp_path) -> None:
    with pytest.raises(EngineSkipped, match="--envs"):
        python_of(ENGINES["lancedb"], None)
    with pytest.raises(EngineSkipped, match="no environment 'lancedb'"):
        python_of(ENGINES["lancedb"], tmp_path)
    assert python_of(ENGINES["scan"], None) == sys.executable


def test_an_environment_is_used(tmp_path) -> None:
    python = tmp_path / "lancedb" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert python_of(ENGINES["lancedb"], tmp_path) == str(python)


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(EngineSkipped, match=r"No module named .*absent"):
        run_module(sys.executable, "research.benchmarks.absent", [], 1)


def test_a_worker_without_the_package_says_so(small, tmp_path) -> None:
    arguments = [str(small.folder), "turbovec", str(tmp_path)]
    answer = run_module(sys.executable, "research.benchmarks.worker", arguments, 1)
    assert "turbovec" in answer["skipped"]


@pytest.fixture
def here(monkeypatch) -> None:
    """Measure in this process: another one would spend seconds on imports."""

    def run_here(python: str, module: str, arguments: list[str], threads: int) -> dict[str, Any]:
        case = Case(Path(arguments[0]))
        if module == "research.benchmarks.bandwidth":
            return {"bytes": 1, "ms": round(read_ms(case.codes), 3), "gb_per_s": 1.0}
        engine = ENGINES[arguments[1]].make(GIB)
        return asdict(measure(engine, case, Path(arguments[2]), "--build" in arguments, 60))

    monkeypatch.setattr(comparing, "run_module", run_here)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")


@pytest.mark.usefixtures("here")
def test_engines_side_by_side(tmp_path) -> None:
    source = str(write_source(tmp_path / "source.ndjson", 30))
    options = Options(source, (300, 600), "scan,faiss_flat_spans,lancedb", queries=3, work=tmp_path / "work")
    results = compare(options)
    names = ["parallel_read", "scan", "faiss_flat_spans", "lancedb"]
    assert [(result["engine"], result["units"]) for result in results] == [
        (name, units) for units in (300, 600) for name in names
    ]
    for read, scan, flat, lance in (results[:4], results[4:]):
        assert read["ms"] > 0
        assert scan["recall_at_10"] == flat["recall_at_10"] == 1.0
        assert scan["queries"] == 3
        assert scan["bytes_per_unit"] < flat["bytes_per_unit"] / 4
        assert "--envs" in lance["skipped"]
        assert lance["p50_ms"] is None
    assert not list((tmp_path / "work").glob("*/engine-*"))


@pytest.mark.usefixtures("here")
def test_json_is_one_line_and_earlier_results_are_shown(tmp_path, capsys) -> None:
    source = str(write_source(tmp_path / "source.ndjson", 12))
    run(Options(source, (300,), "scan", queries=2, as_json=True))
    line = capsys.readouterr().out.splitlines()[-1]
    assert [result["engine"] for result in json.loads(line)] == ["parallel_read", "scan"]
    (tmp_path / "run.json").write_text(line, "utf-8")
    run(Options("", (), results=(tmp_path / "run.json",), table=True, plot=tmp_path / "cost.svg"))
    assert "| scan | 300 | 1.000 |" in capsys.readouterr().out
    assert (tmp_path / "cost.svg").stat().st_size > 0


def test_nothing_to_do_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="nothing to show"):
        run(Options("calls", ()))
    with pytest.raises(InvalidInput, match="nothing to index"):
        run(Options("", (100,)))


def test_the_command_hands_all_its_options_on() -> None:
    assert list(signature(bench).parameters) == [field.name for field in fields(Options)]


def test_sizes_are_numbers() -> None:
    for given in ("many", "0", "-5", "inf", "1e5,"):
        done = CliRunner().invoke(cli, ["bench", "--source", "calls", "--units", given])
        assert done.exit_code == 2, given
        assert "no number of units" in done.stderr


def test_the_command_says_what_is_wrong() -> None:
    with pytest.raises(InvalidInput, match="There is no engine 'milvus'"):
        cli(["bench", "--source", "calls", "--units", "2e5", "--engines", "milvus"], standalone_mode=False)
