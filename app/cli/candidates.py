"""``spanseek candidates``: what to label."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, checked_store, out, print_json
from app.cli.filters import WhereOption, WherePartOption, filter_of
from app.search.types import Mode
from app.settings import Settings
from indexer.tuning import ThresholdOn

if TYPE_CHECKING:
    from app.calibration.label_candidates import LabelCandidates


def candidates(
    phrases: Annotated[list[str], typer.Argument(help="One or more origin phrases.")],
    collection: CollectionOption,
    file: Annotated[Path, typer.Option("--out", help="File for the candidates, .csv or .ndjson.")],
    count: Annotated[int, typer.Option(help="How many to propose.")] = 200,
    seed: Annotated[int, typer.Option(help="Decides what is drawn.")] = 13,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Where most are drawn; else the collection's, or a score of 0.8.")
    ] = None,
    threshold_on: Annotated[ThresholdOn, typer.Option(help="The scale of the threshold and the floor.")] = "score",
    floor: Annotated[
        float | None, typer.Option(min=0, max=1, help="Draw from all spans that reach it, not the best of documents.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="How similarity is measured.")] = "best_span",
    where: WhereOption = None,
    where_part: WherePartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose what to label: a file that lacks nothing but your answers, for spanseek calibrate."""
    from app.calibration.label_candidates import LabelCandidatesRequest
    from app.calibration.label_files import check_label_file_name, write_label_candidates
    from app.composition import Services

    check_label_file_name(file)
    wanted = filter_of(where, where_part)
    request = LabelCandidatesRequest(
        collection, tuple(phrases), count, seed, mode, threshold, threshold_on, floor, wanted
    )
    settings = Settings()
    with checked_store(settings) as store:
        found = Services(settings, store).thresholds.candidates(request)
    write_label_candidates(file, found)
    if as_json:
        print_json({name: value for name, value in json_values(found).items() if name != "candidates"})
    else:
        _show(found)
        out.print(f"{len(found.candidates):,} candidates are in {file}: say of each whether it is a match.")


def _show(found: "LabelCandidates") -> None:
    table = Table("stratum", "raw", "pairs", "drawn")
    for one in found.strata:
        table.add_row(str(one.number), f"{one.low:.4f} to {one.high:.4f}", f"{one.population:,}", str(one.drawn))
    out.print(table)
