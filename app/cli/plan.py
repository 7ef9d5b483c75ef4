"""``spanseek plan``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.answers import json_values
from app.cli.console import JsonOption, counted, out, print_json, settings_with

if TYPE_CHECKING:
    from app.capacity import Plan


def plan(
    documents: Annotated[int, typer.Option(min=1, help="Documents of the collection.")],
    words: Annotated[float, typer.Option(min=1, help="Words of a document on average.")],
    cores: Annotated[int, typer.Option(min=1, help="Cores of a machine.")] = 2,
    searches: Annotated[
        float | None, typer.Option(min=0.1, help="Searches a second: says how many servers answer them.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Calculate what a collection will take: disk, memory, hours to index and searches a second."""
    from app.capacity import plan as planned

    answer = planned(documents, words, cores=cores, searches=searches, candidates_from=settings_with().candidates_from)
    if as_json:
        print_json(json_values(answer))
        return
    table = Table("what", "figure", box=None)
    for row in _rows(answer, cores):
        table.add_row(*row)
    out.print(table)


def _rows(answer: "Plan", cores: int) -> Iterator[tuple[str, str]]:
    yield "units", f"{answer.units:,}"
    yield "disk, with room to merge", _gb(answer.disk_bytes)
    yield "memory to index", _gb(answer.index_memory_bytes)
    yield "memory to search", _gb(answer.memory_bytes)
    yield f"hours to index, {counted(cores, 'core')}", f"{answer.index_hours:,.1f}"
    yield f"one search, {answer.engine}", f"{answer.search_ms:,.0f} ms"
    yield "searches a second", f"{answer.searches_a_second:,.1f}"
    if cluster := answer.cluster:
        yield "cluster, calculated: servers", f"{cluster.servers:,}"
        yield "memory of all servers", _gb(cluster.memory_bytes)
        yield "searches a second of all", f"{cluster.searches_a_second:,.1f}"


def _gb(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
