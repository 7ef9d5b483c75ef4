"""``spanseek eval nugget-lm``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json, settings_with
from app.search.encoders import Encoders

if TYPE_CHECKING:
    from research.evaluation.nugget_lm import LmReport


def eval_nugget_lm(
    data: Annotated[Path, typer.Option(help="A file of WikiText, as test.txt.gz.")],
    model: Annotated[
        list[Path], typer.Option(help="Folder that `spanseek train nugget-lm` wrote; repeat for several.")
    ],
    cache: Annotated[Path, typer.Option(help="Folder for what stands for segments.")],
    history: Annotated[
        list[int] | None, typer.Option(min=0, help="Segments to look back; repeat for several. By default 0 1 2 4 8.")
    ] = None,
    segments: Annotated[
        int | None, typer.Option(min=1, help="Only the first articles, until so many segments.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw perplexity against history into this file.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Encoder whose nuggets are read.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Perplexity by how many segments before are read: table 3 of the Nugget paper, at small scale."""
    from models.artifacts import load_artifact
    from research.evaluation.nugget_lm import HISTORIES, evaluate_language_models, kinds_of, named, segments_of
    from research.evaluation.plots import check_format, save_curves
    from research.evaluation.wikitext import read_wikitext

    if plot:
        check_format(plot)
    settings = settings_with(encoder=encoder, device=device)
    artifacts = {folder: load_artifact(folder) for folder in model}
    readers = [(folder, kind) for folder, artifact in artifacts.items() for kind in kinds_of(artifact)]
    loaded = Encoders(settings.encoder_options).load_nuggets(settings.encoder)
    shapes: list[dict[str, int]] = [artifact.config["shape"] for artifact in artifacts.values()]  # type: ignore[misc]
    cut = segments_of(loaded, read_wikitext(data), min(shape["segment"] for shape in shapes), segments)
    names = named([kind for _, kind in readers], [folder for folder, _ in readers])
    models = {name: (artifacts[folder], kind) for name, (folder, kind) in zip(names, readers, strict=True)}
    report = evaluate_language_models(models, loaded, cut, cache, tuple(history or HISTORIES))
    if plot:
        save_curves(plot, report.curves(), "segments of history", "perplexity a token")
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)


def _print(report: "LmReport") -> None:
    """Perplexities, a row a model."""
    curves = report.curves()
    lengths = list(next(iter(curves.values())))
    table = Table("perplexity", *(f"h = {length}" for length in lengths))
    for name, row in curves.items():
        table.add_row(name, *(f"{row[length]:.2f}" for length in lengths))
    out.print(table)
