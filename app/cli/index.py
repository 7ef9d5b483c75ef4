"""``spanseek index``: index documents into a collection."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.console import (
    CollectionOption,
    IndexEngineOption,
    JsonOption,
    counted,
    err,
    open_services,
    out,
    print_json,
    settings_with,
)
from app.cli.dry_run import show_contents
from app.cli.languages import Languages
from app.cli.options import RecipeChoice, with_options
from app.cli.progress import indexing_progress, stop_on_interrupt
from app.cli.reading import (
    TEXT_LOST,
    ReadingOptions,
    ReportOption,
    Skipped,
    SourceOption,
    check_any_document,
    files_json,
    loses_text,
    report_files,
)
from indexer.errors import CollectionBusy
from models.types import Document

if TYPE_CHECKING:
    from indexer.indexing.pipeline import IndexReport
    from indexer.sources import Record

_STOPPING = "Stopping: publishing what has been read. Press Ctrl-C again to drop it."
# The most reasons for skipping that a summary names.
_REASONS = 10
# Models are fitted to a sample of this many documents, from the first one on.
_SAMPLED = 20_000


@with_options(recipe=("representations",))
def index(
    collection: CollectionOption,
    source: SourceOption,
    recipe: RecipeChoice = RecipeChoice(),
    reading: ReadingOptions = ReadingOptions(),
    report: ReportOption = None,
    device: Annotated[str | None, typer.Option(help="`auto`, `cpu` or `cuda`; without it `SPANSEEK_DEVICE`.")] = None,
    engine: IndexEngineOption = None,
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

    Work is published every few seconds, and unchanged documents are skipped: run an interrupted job again to resume it.
    The exit status is 3 where text of the source was lost.
    """
    from app.collections.jobs import CollectionJobs
    from app.collections.service import CollectionService
    from indexer.indexing.pipeline import JobHooks
    from indexer.patience import Patience
    from indexer.sources import Source

    records, languages = Source(source, reading.options()), Languages()
    with Skipped(report, Path(f"{source.resolve().name}.skipped.ndjson")) as skipped:
        if dry_run:
            show_contents(records, source, skipped, as_json=as_json)
            return
        check_any_document(records, source, skipped)
        with (
            open_services(settings_with(device=device, index_engine=engine), create=True) as services,
            indexing_progress(records, err) as progress,
            stop_on_interrupt(_STOPPING) as stop,
        ):
            sample = progress.sampling(islice(records, _SAMPLED))
            options = recipe.options(_texts(sample), as_trained=as_trained)
            target = (
                services.get(CollectionService)
                .create(services.get(CollectionService).own_name(collection), options)
                .collection
            )
            busy = Patience(wait, stop=stop.is_set, begin=report_busy)
            hooks = JobHooks(progress=progress.indexing, bad_record=skipped, stop=stop.is_set, busy=busy)
            indexed = services.get(CollectionJobs).index(target, languages.sampling(records), hooks)
    report_files(records)
    if as_json:
        print_json(indexed.to_json() | files_json(records) | {"languages": languages.shares()})
    else:
        _print(indexed, collection, languages)
    if stop.is_set():
        err.print("Stopped early. Run the same command again to resume.")
        raise typer.Exit(130)
    if loses_text(records, skipped):
        raise typer.Exit(TEXT_LOST)


def _print(report: "IndexReport", collection: str, languages: Languages) -> None:
    words = f"{counted(report.rows['words'], 'word')}, " if "words" in report.rows else ""
    out.print(
        f"{counted(report.documents, 'document')} ({words}{counted(report.units, 'unit')}) indexed into {collection}, "
        f"{report.unchanged:,} unchanged, {report.skipped:,} skipped, in {report.seconds:.1f} s.",
        soft_wrap=True,
    )
    for reason, count in Counter(report.reasons).most_common(_REASONS):
        out.print(f"  skipped {count:,}: {reason}", markup=False, soft_wrap=True)
    shares = ", ".join(f"{code} {share:.0%}" for code, share in languages.shares().items())
    if shares:
        out.print(f"Languages: {shares}.", soft_wrap=True)


def _texts(sample: Iterable["Record"]) -> Iterator[str]:
    """The texts of a sample, to which models of a new collection are fitted."""
    err.print("Reading a sample of the documents, to fit models to them.")
    for record in sample:
        if isinstance(record, Document):
            yield record.text


def report_busy(error: CollectionBusy) -> None:
    """Say that another process writes to the collection."""
    err.print(f"{error}. Waiting.", markup=False, soft_wrap=True)
