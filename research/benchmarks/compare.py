"""Engines side by side: the same vectors, the same queries, every engine in a process of its own.

spanseek bench --source COLLECTION --units 200000 --engines scan,faiss_flat_spans
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.cli.console import err, out, print_json
from app.settings import Settings
from models.errors import InvalidInput
from research.benchmarks.case import Case
from research.benchmarks.engines.registry import EngineEntry, entries
from research.benchmarks.plots import save_plot
from research.benchmarks.prepare import Plan, make_cases
from research.benchmarks.processes import EngineSkipped, python_of, run_module
from research.benchmarks.report import as_markdown, notes, read_results, rich_table
from research.benchmarks.rows import Evaluator, Row, batch_ms_per_query, percentile
from research.benchmarks.worker import Measured


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command. ``limit_s`` is how long one kind of search is timed; engines may use
    ``memory_limit_gb``; ``envs`` has a virtual environment for every engine with packages of its own, by its name."""

    source: str
    units: tuple[int, ...]
    engines: str = "all"
    queries: int = 500
    seed: int = 1
    segment_units: int | None = None
    threads: int = 2
    limit_s: float = 120
    memory_limit_gb: float = 12
    envs: Path | None = None
    work: Path | None = None
    results: tuple[Path, ...] = ()
    plot: Path | None = None
    table: bool = False
    as_json: bool = False


def compare(options: Options) -> list[dict[str, object]]:
    """For every size an object with the speed of a plain read, and then one for every engine."""
    selected = entries(options.engines)
    plan = Plan(options.source, options.units, options.queries, options.seed, options.segment_units)
    results: list[dict[str, object]] = []
    with _working_folder(options.work) as work:
        for case in make_cases(plan, Settings(), work):
            err.print(f"{case.info.units:,} units, {len(case.queries)} queries", markup=False)
            results.append(_read_speed(case, options))
            evaluator = Evaluator(case)
            for entry in selected:
                row = measure(entry, case, evaluator, options)
                err.print(f"  {entry.name}: {row.skipped or f'p50 {row.p50_ms} ms'}", markup=False)
                results.append(row.as_json())
    return results


def measure(entry: EngineEntry, case: Case, evaluator: Evaluator, options: Options) -> Row:
    """The row of one engine: built and searched with all threads, then opened and searched with one."""
    folder = case.folder / f"engine-{entry.name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        many = _work(entry, case, folder, options, options.threads, build=True)
        one = _work(entry, case, folder, options, 1, build=False)
    except EngineSkipped as reason:
        return Row(entry.name, case.info.units, finds=entry.finds, what=entry.what, skipped=str(reason))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _row(entry, case, evaluator, options.threads, many, one)


def _row(entry: EngineEntry, case: Case, evaluator: Evaluator, threads: int, many: Measured, one: Measured) -> Row:
    quality = evaluator.quality(entry.finds, many.answers, entry.reads_vectors)
    return Row(
        engine=entry.name,
        units=case.info.units,
        recall_at_10=quality.recall,
        p50_ms=percentile(many.latencies_ms, 50),
        p99_ms=percentile(many.latencies_ms, 99),
        batch32_ms_per_query=batch_ms_per_query(case, many),
        bytes_per_unit=round(many.bytes / case.info.units, 1),
        build_s=None if many.build_s is None else round(many.build_s, 2),
        peak_rss_mb=many.peak_rss_mb,
        threads=threads,
        p50_ms_1_thread=percentile(one.latencies_ms, 50),
        p99_ms_1_thread=percentile(one.latencies_ms, 99),
        batch32_ms_per_query_1_thread=batch_ms_per_query(case, one),
        anonymous_mb=one.anonymous_mb,
        finds=entry.finds,
        agreement_at_10=quality.agreement,
        largest_raw_difference=quality.largest_raw_difference,
        queries=len(many.latencies_ms),
        what=entry.what,
    )


def _work(entry: EngineEntry, case: Case, folder: Path, options: Options, threads: int, *, build: bool) -> Measured:
    """Let a fresh process measure an engine."""
    arguments = [str(case.folder), entry.name, str(folder), f"--limit-s={options.limit_s}"]
    arguments += [f"--memory-limit-gb={options.memory_limit_gb}", *(["--build"] if build else [])]
    answer = run_module(python_of(entry, options.envs), "research.benchmarks.worker", arguments, threads)
    if "skipped" in answer:
        raise EngineSkipped(str(answer["skipped"]))
    return Measured(**answer)


def _read_speed(case: Case, options: Options) -> dict[str, object]:
    many = run_module(sys.executable, "research.benchmarks.bandwidth", [str(case.folder)], options.threads)
    one = run_module(sys.executable, "research.benchmarks.bandwidth", [str(case.folder)], 1)
    extra = {"ms_1_thread": one["ms"], "gb_per_s_1_thread": one["gb_per_s"], "threads": options.threads}
    return {"engine": "parallel_read", "units": case.info.units, **many, **extra}


@contextmanager
def _working_folder(given: Path | None) -> Iterator[Path]:
    if given is None:
        with TemporaryDirectory(prefix="spanseek-bench-") as folder:
            yield Path(folder)
    else:
        given.mkdir(parents=True, exist_ok=True)
        yield given


def run(options: Options) -> None:
    """Compare, and show it as asked for."""
    if options.units and not options.source:
        raise InvalidInput(
            "There is nothing to index.", hint="Name a collection or a file with --source.", field="source"
        )
    earlier = [result for path in options.results for result in read_results(path)]
    results = compare(options) if options.units else []
    if not earlier and not results:
        raise InvalidInput("There is nothing to show.", hint="Give --units, or --results of earlier runs.")
    if options.plot:
        save_plot(options.plot, earlier + results)
    if options.table:
        out.print(as_markdown(earlier + results), markup=False, soft_wrap=True)
    if options.as_json:
        print_json(results)
    elif not options.table:
        out.print(rich_table(earlier + results))
        for note in notes(earlier + results):
            out.print(note, markup=False)
