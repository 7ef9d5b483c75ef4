"""``spanseek mine``: all hits of thousands of phrases, in tables."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, counted, err, open_services, out, print_json
from app.cli.options import with_options
from app.mining.tables import TABLES, check_format, table_of
from app.requests import MiningOptions, MiningRequest
from models.fields import converted

if TYPE_CHECKING:
    from app.mining.job import Checkpoint


@with_options(options=("count_by", "explain"))
def mine(
    collection: CollectionOption,
    phrases: Annotated[
        Path, typer.Option("--phrases", help="File of phrases: a text a line, or `.ndjson` with `text` and `name`.")
    ],
    folder: Annotated[Path, typer.Option("--out", help="New folder for the tables `hits`, `counts` and `copies`.")],
    options: MiningOptions,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Count the hits by this metadata, such as `team` or `part.speaker`; repeat for several."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find all hits above a threshold of up to 10,000 phrases, with counts by metadata and near-copies of phrases."""
    from app.mining.job import run_mining
    from app.mining.mining import MiningService
    from app.mining.phrase_files import read_phrases

    if folder.exists():
        raise typer.BadParameter(f"{folder} exists; name a new folder.", param_hint="--out")
    check_format(options.format)
    request = converted(
        options, MiningRequest, collection=collection, phrases=read_phrases(phrases), count_by=tuple(by or ())
    )
    with open_services() as services, Progress(console=err, disable=not err.is_terminal) as bar:
        shown = bar.add_task("Phrases", total=len(request.phrases))

        def progress(done: int, total: int, checkpoint: "Checkpoint") -> None:
            bar.update(shown, completed=done)

        mining = services.get(MiningService).mine(request)
        try:
            mined = run_mining(mining, folder, progress=progress)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    if as_json:
        print_json(json_values(mined) | {"files": [str(table_of(folder, name, mined.format)) for name in TABLES]})
        return
    more = f"; {counted(mined.incomplete, 'phrase')} of more than {request.limit:,}" if mined.incomplete else ""
    what = f"{counted(mined.hits, 'hit')} of {counted(mined.phrases, 'phrase')}"
    out.print(f"{what} written to {folder}{more}.", markup=False, soft_wrap=True)
    if mined.copies:
        out.print(f"Near-copies among the phrases: {mined.copies:,}.")
