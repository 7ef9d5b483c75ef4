"""``spanseek reindex``: bring a collection into another recipe."""

from typing import Annotated

import typer

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, checked_store, counted, err, out, print_json, settings_with
from app.cli.index import report_busy
from app.cli.progress import indexing_progress, stop_on_interrupt
from app.cli.reading import report_bad_record
from models.encoders.nuggets.base import check_ratio

_STOPPING = "Stopping: keeping what has been encoded. Press Ctrl-C again to drop it."


def reindex(
    collection: CollectionOption,
    encoder: Annotated[str | None, typer.Option(help="Another encoder.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    min_span: Annotated[int | None, typer.Option(help="Another shortest span, in units.")] = None,
    max_span: Annotated[int | None, typer.Option(help="Another longest span, in units.")] = None,
    nugget_ratio: Annotated[
        float | None, typer.Option(help="Keep nuggets for mode maxsim: this share of all tokens, 0.05 to 0.25.")
    ] = None,
    words: Annotated[bool | None, typer.Option("--words/--no-words", help="Store words, or no longer.")] = None,
    facets: Annotated[
        bool | None, typer.Option("--facets/--no-facets", help="Store the facets of sentences, or no longer.")
    ] = None,
    restorable: Annotated[
        bool | None,
        typer.Option("--restorable/--no-restorable", help="Store vectors that give sentences back."),
    ] = None,
    store_text: Annotated[
        bool | None,
        typer.Option("--store-text/--no-store-text", help="Store texts, or restore those of hits from vectors."),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait while another process writes to the collection.")
    ] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Encode the stored texts of a collection anew: after an upgrade with new weights, or into another recipe.

    The collection is searched and written to meanwhile. Thresholds, phrases, matches and keys stay. Run an interrupted
    job again to resume it.
    """
    from app.collections.service import CollectionOptions
    from app.composition import Services
    from indexer.indexing.pipeline import JobHooks
    from indexer.patience import Patience

    if nugget_ratio is not None:
        check_ratio(nugget_ratio)
    settings = settings_with(device=device)
    options = CollectionOptions(
        encoder,
        min_span,
        max_span,
        nugget_ratio,
        words=words,
        facets=facets,
        restorable=restorable,
        store_text=store_text,
    )
    with checked_store(settings) as store, stop_on_interrupt(_STOPPING) as stop:
        job = Services(settings, store).reindexing(collection, options)
        documents = job.documents()
        with indexing_progress(documents, err) as progress:
            busy = Patience(wait, stop=stop.is_set, begin=report_busy)
            hooks = JobHooks(progress.indexing, report_bad_record, stop=stop.is_set, busy=busy)
            reindexed = job.run(documents, hooks)
    if reindexed is None:
        err.print(f"Stopped early. Run the same command again to resume; until then {job.target} holds what is done.")
        raise typer.Exit(130)
    if as_json:
        print_json(json_values(reindexed))
    else:
        out.print(
            f"{collection} is reindexed: {counted(reindexed.documents, 'document')} with {reindexed.encoder}, "
            f"{counted(reindexed.phrases, 'saved phrase')} encoded anew, generation {reindexed.generation}.",
            soft_wrap=True,
        )
