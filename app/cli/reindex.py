"""``spanseek reindex``: bring a collection into another recipe."""

from typing import Annotated

import typer

from app.answers import json_values
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
from app.cli.index import report_busy
from app.cli.maintenance import erased_text
from app.cli.options import RecipeChoice, with_options
from app.cli.progress import indexing_progress, stop_on_interrupt
from app.cli.reading import report_bad_record

_STOPPING = "Stopping: keeping what has been encoded. Press Ctrl-C again to drop it."


@with_options(recipe=("representations",))
def reindex(
    collection: CollectionOption,
    recipe: RecipeChoice = RecipeChoice(),
    device: Annotated[str | None, typer.Option(help="`auto`, `cpu` or `cuda`; without it `SPANSEEK_DEVICE`.")] = None,
    engine: IndexEngineOption = None,
    wait: Annotated[
        float,
        typer.Option(min=0, help="Seconds to wait while another process writes to the collection; 0 fails at once."),
    ] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Encode the stored texts of a collection anew: after an upgrade with new weights, or into another recipe.

    The collection is searched and written to meanwhile. Thresholds, phrases, matches and keys stay. Run an interrupted
    job again to resume it.
    """
    from app.collections.reindexing import Reindexing
    from indexer.indexing.pipeline import JobHooks
    from indexer.patience import Patience

    options = recipe.options()
    with (
        open_services(settings_with(device=device, index_engine=engine)) as services,
        stop_on_interrupt(_STOPPING) as stop,
    ):
        job = Reindexing.of(services, collection, options)
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
        if recipe.options().store_text is False:
            out.print(erased_text(reindexed.remains), markup=False, soft_wrap=True)
