"""``spanseek index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.calibration.default_calibration import default_calibration
from app.cli.bounds import span_bounds
from app.cli.console import CollectionOption, JsonOption, checked_store, err, out, print_json, settings_with
from app.cli.interrupts import stop_on_interrupt
from app.cli.nuggets import chosen_nuggets
from app.cli.progress import indexing_progress
from app.search.encoders import Encoders
from indexer.errors import CollectionNotFound
from indexer.types import Recipe
from models.encoders.nugget import check_ratio
from models.types import SpanBounds

if TYPE_CHECKING:
    from indexer.sources import BadRecord
    from indexer.store import Store

_STOPPING = "Stopping: publishing what has been read. Press Ctrl-C again to drop it."


def index(
    collection: CollectionOption,
    source: Annotated[Path, typer.Option(help="NDJSON, CSV, Parquet or text file, or a folder of them; also .gz.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder of a new collection.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    min_span: Annotated[int | None, typer.Option(help="Shortest span of a new collection, in units (1).")] = None,
    max_span: Annotated[int | None, typer.Option(help="Longest span of a new collection, in units (20).")] = None,
    nugget_ratio: Annotated[
        float | None, typer.Option(help="Keep nuggets for mode maxsim: this share of all tokens, 0.05 to 0.25.")
    ] = None,
    as_trained: Annotated[
        bool, typer.Option("--as-trained", help="Do not whiten the nuggets of a new collection by its own texts.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Index documents into a collection, which is created if need be.

    Documents that are there already, unchanged, are passed over: an interrupted job is resumed by running it again.
    """
    from indexer.pipeline import IndexJob, JobHooks
    from indexer.sources import Source

    if nugget_ratio is not None:
        check_ratio(nugget_ratio)
    settings = settings_with(device=device)
    records = Source(source)
    with checked_store(settings, create=True) as store:
        made = _recipe_of(store, collection)
        usual = made.bounds if made else SpanBounds()
        bounds = span_bounds(
            usual.shortest if min_span is None else min_span, usual.longest if max_span is None else max_span
        )
        name = encoder or (made.encoder if made else settings.encoder)
        encoders = Encoders(settings.encoder_options)
        loaded = encoders.load(name)
        nuggets = chosen_nuggets(encoders, name, made, nugget_ratio, None if as_trained else records)
        recipe = Recipe(name, loaded.fingerprint, loaded.dim, bounds, nuggets.details if nuggets else {})
        start = None if made else default_calibration(encoders, recipe)
        target = store.catalog.create_collection(collection, recipe, start)
        with indexing_progress(records, err) as show, stop_on_interrupt(_STOPPING) as stop:
            hooks = JobHooks(progress=show, bad_record=_report_bad_record, stop=stop.is_set)
            job = IndexJob(store, loaded, target, hooks, forward=nuggets, segment_units=settings.segment_units)
            report = job.run(records)
    if as_json:
        print_json(report.to_json())
    else:
        out.print(
            f"{report.documents:,} documents ({report.units:,} units) indexed into {collection}, "
            f"{report.unchanged:,} unchanged, {report.skipped:,} skipped, in {report.seconds:.1f} s.",
            soft_wrap=True,
        )
    if stop.is_set():
        err.print("Stopped early. Run the same command again to go on from here.")
        raise typer.Exit(130)
    if records.unreadable:
        err.print(f"Could not be read to the end: {', '.join(records.unreadable)}.", markup=False, soft_wrap=True)
        raise typer.Exit(1)


def _recipe_of(store: "Store", collection: str) -> Recipe | None:
    """The recipe of a collection that is there already: what its options need not say again."""
    try:
        return store.catalog.collection(collection).recipe
    except CollectionNotFound:
        return None


def _report_bad_record(record: "BadRecord") -> None:
    err.print(f"skipped {record.where}: {record.reason}", markup=False, soft_wrap=True)
