"""``spanseek index``: index documents into a collection."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.console import CollectionOption, JsonOption, counted, err, open_services, out, print_json, settings_with
from app.cli.dry_run import show_contents
from app.cli.options import RecipeChoice, with_options
from app.cli.progress import indexing_progress, stop_on_interrupt
from app.cli.reading import (
    ReadingOptions,
    SourceOption,
    check_any_document,
    files_json,
    report_bad_record,
    report_files,
)
from indexer.errors import CollectionBusy
from models.types import Document

if TYPE_CHECKING:
    from indexer.sources import Record

_STOPPING = "Stopping: publishing what has been read. Press Ctrl-C again to drop it."
# Models are fitted to a sample of this many documents, from the first one on.
_SAMPLED = 20_000


@with_options(recipe=("representations",))
def index(
    collection: CollectionOption,
    source: SourceOption,
    recipe: RecipeChoice = RecipeChoice(),
    reading: ReadingOptions = ReadingOptions(),
    device: Annotated[str | None, typer.Option(help="`auto`, `cpu` or `cuda`; without it `SPANSEEK_DEVICE`.")] = None,
    as_trained: Annotated[
        bool, typer.Option("--as-trained", help="Do not fit models of a new collection to its own texts.")
    ] = False,
    wait: Annotated[
        float,
        typer.Option(min=0, help="Seconds to wait while another process writes to the collection; 0 fails at once."),
    ] = 30.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be indexed, with three examples, and index nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Index documents into a collection; a new collection is created.

    Unchanged documents are skipped: run an interrupted job again to resume it.
    """
    from indexer.indexing.pipeline import JobHooks
    from indexer.patience import Patience
    from indexer.sources import Source

    records = Source(source, reading.options())
    if dry_run:
        show_contents(records, source, as_json=as_json)
        return
    check_any_document(records, source)
    with (
        open_services(settings_with(device=device), create=True) as services,
        indexing_progress(records, err) as progress,
        stop_on_interrupt(_STOPPING) as stop,
    ):
        sample = progress.sampling(islice(records, _SAMPLED))
        options = recipe.options(_texts(sample), as_trained=as_trained)
        target = services.collections.create(services.collections.own_name(collection), options).collection
        hooks = JobHooks(
            progress=progress.indexing,
            bad_record=report_bad_record,
            stop=stop.is_set,
            busy=Patience(wait, stop=stop.is_set, begin=report_busy),
        )
        report = services.jobs.index(target, records, hooks)
    report_files(records)
    if as_json:
        print_json(report.to_json() | files_json(records))
    else:
        out.print(
            f"{counted(report.documents, 'document')} ({counted(report.units, 'unit')}) indexed into {collection}, "
            f"{report.unchanged:,} unchanged, {report.skipped:,} skipped, in {report.seconds:.1f} s.",
            soft_wrap=True,
        )
    if stop.is_set():
        err.print("Stopped early. Run the same command again to resume.")
        raise typer.Exit(130)
    if records.unreadable:
        raise typer.Exit(1)


def _texts(sample: Iterable["Record"]) -> Iterator[str]:
    """The texts of a sample, to which models of a new collection are fitted."""
    err.print("Reading a sample of the documents, to fit models to them.")
    for record in sample:
        if isinstance(record, Document):
            yield record.text


def report_busy(error: CollectionBusy) -> None:
    """Say that another process writes to the collection."""
    err.print(f"{error}. Waiting.", markup=False, soft_wrap=True)
