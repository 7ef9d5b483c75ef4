"""``spanseek bench``: our engine beside others."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import JsonOption

bench_cli = typer.Typer(add_completion=False, rich_help_panel="Research")


@bench_cli.command("bench")
def bench(
    source: Annotated[str, typer.Option(help="An indexed collection, or a file or folder to index first.")] = "",
    units: Annotated[
        list[str] | None, typer.Option(help="How many units to search, as 200000 or 2e5; commas between several.")
    ] = None,
    engines: Annotated[str, typer.Option(help="Engines, joined by commas, or all.")] = "all",
    queries: Annotated[int, typer.Option(min=1, help="How many phrases to ask.")] = 500,
    seed: Annotated[int, typer.Option(help="Another seed draws other phrases.")] = 1,
    segment_units: Annotated[
        int | None, typer.Option(min=1, help="Units of a segment; by default there is one segment.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the first measurement; the second has one.")] = 2,
    limit_s: Annotated[float, typer.Option(min=1, help="Longest time for the queries of one measurement.")] = 120,
    memory_limit_gb: Annotated[float, typer.Option(min=0.1, help="Engines that need more memory are skipped.")] = 12,
    envs: Annotated[
        Path | None, typer.Option(help="Folder of virtual environments, for engines with packages of their own.")
    ] = None,
    work: Annotated[Path | None, typer.Option(help="Folder to keep corpora and exact answers in.")] = None,
    results: Annotated[
        list[Path] | None, typer.Option(help="What an earlier run printed, to show as well; repeat for several.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw cost against corpus size into this file.")] = None,
    table: Annotated[bool, typer.Option("--table", help="Print a table in Markdown.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Set engines side by side on the same vectors: latency, memory, size, recall."""
    from research.benchmarks.compare import Options, run

    options = Options(
        source=source,
        units=tuple(_count(size) for given in units or () for size in given.split(",")),
        engines=engines,
        queries=queries,
        seed=seed,
        segment_units=segment_units,
        threads=threads,
        limit_s=limit_s,
        memory_limit_gb=memory_limit_gb,
        envs=envs,
        work=work,
        results=tuple(results or ()),
        plot=plot,
        table=table,
        as_json=as_json,
    )
    run(options)


def _count(text: str) -> int:
    """A number of units, as 200000 or 2e5."""
    try:
        count = int(float(text))
    except (ValueError, OverflowError):
        count = 0
    if count < 1:
        raise typer.BadParameter(f"{text!r} is no number of units", param_hint="--units")
    return count
