"""``spanseek eval phrase-similarity``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json
from app.encoders.encoders import Encoders
from app.settings import Settings

if TYPE_CHECKING:
    from research.evaluation.phrase_similarity import SetFigures


def eval_phrase_similarity(
    data: Annotated[Path, typer.Option(help="Folder with the sets; those that are not there are left out.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder to evaluate.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the cosine of two phrases follows people's judgements of them, beside the untrained encoder."""
    from research.evaluation.phrase_similarity import averages, evaluate_phrases

    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    name = encoder or settings.encoder
    figures = evaluate_phrases(encoders.load(name), encoders.load("untrained"), data)
    average = averages(figures)
    if as_json:
        print_json({"encoder": name, "sets": {of: asdict(row) for of, row in figures.items()}, "average": average})
        return
    table = Table("set", "rows", "metric", name, "untrained")
    for of, row in figures.items():
        table.add_row(of, f"{row.rows:,}", *_cells(row, row.metric))
        for metric in row.encoder.keys() - {row.metric}:
            table.add_row("", "", *_cells(row, metric), style="dim")
    table.add_section()
    table.add_row("average", "", "the usual ones", f"{average['encoder']:.4f}", f"{average['untrained']:.4f}")
    out.print(table)


def _cells(row: "SetFigures", metric: str) -> tuple[str, str, str]:
    return metric, f"{row.encoder[metric]:.4f}", f"{row.untrained[metric]:.4f}"
