"""The one progress bar of an indexing job."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from indexer.pipeline import IndexReport
    from indexer.sources import Source


@contextmanager
def indexing_progress(source: "Source", console: Console) -> Iterator[Callable[["IndexReport"], None]]:
    """Show documents, units per second and the time left, as far as the source has been read.

    The bar is drawn only on a terminal; elsewhere nothing is written.
    """
    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[documents]:,} documents"),
        TextColumn("{task.fields[speed]:,.0f} units/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("index", total=max(source.total_bytes, 1), documents=0, speed=0.0)

        def show(report: "IndexReport") -> None:
            progress.update(
                task,
                completed=source.read_bytes,
                documents=report.documents + report.unchanged,
                speed=report.units_per_second,
            )

        yield show
