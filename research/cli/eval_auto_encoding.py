"""``spanseek eval auto-encoding``."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json, settings_with
from app.search.encoders import Encoders

if TYPE_CHECKING:
    from research.evaluation.auto_encoding import AutoEncodingReport


def eval_auto_encoding(
    extract: Annotated[Path, typer.Option(help="Folder of a Wikipedia extract, *.gz in WikiExtractor's form.")],
    model: Annotated[
        list[Path],
        typer.Option(help="Folder that `spanseek train nugget-lm` wrote, one a selector; repeat for several."),
    ],
    cache: Annotated[Path, typer.Option(help="Folder for what stands for sentences.")],
    ratio: Annotated[
        list[float] | None, typer.Option(help="Nuggets a token; repeat for several. By default 0.05 0.1 0.25.")
    ] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences to say again, of articles that are held out.")] = 500,
    plot: Annotated[Path | None, typer.Option(help="Draw accuracy against ratio into this file.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Encoder whose nuggets are read.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    as_json: JsonOption = False,
) -> None:
    """How much of a sentence its nuggets hold: the share of tokens that a decoder says right, by ratio and selector."""
    from models.artifacts import load_artifact
    from models.encoders.nugget import check_ratio
    from research.evaluation.auto_encoding import RATIOS, AutoEncodingReport, decode_all, selector_of
    from research.evaluation.nugget_lm import named
    from research.evaluation.plots import check_format, save_curves
    from research.evaluation.wikipedia import held_out_sentences
    from research.nugget_lm.nugget_lm import backbone_of
    from research.nugget_lm.segments import cut_segments

    ratios = tuple(ratio or RATIOS)
    for each in ratios:
        check_ratio(each)
    if plot:
        check_format(plot)
    settings = settings_with(encoder=encoder, device=device)
    texts = list(islice(held_out_sentences(extract), sentences))
    decoded = {}
    artifacts = [load_artifact(folder) for folder in model]
    for name, artifact in zip(named([selector_of(each) for each in artifacts], model), artifacts, strict=True):
        # Nuggets are chosen as when the decoder learnt to read them.
        chosen: Any = artifact.config.get("selector")
        options = replace(settings.encoder_options, nugget_selector=chosen)
        loaded = Encoders(options).load_nuggets(settings.encoder)
        backbone = backbone_of(loaded)
        shape: Any = artifact.config["shape"]
        segments = cut_segments(backbone.tokenize(texts), shape["segment"], backbone.unknown)
        decoded[name] = decode_all(artifact, loaded, segments, cache, ratios)
    report = AutoEncodingReport(decoded)
    if plot:
        save_curves(plot, report.curves(), "nuggets a token", "tokens said right")
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)


def _print(report: "AutoEncodingReport") -> None:
    """Accuracies, a row a selector."""
    curves = report.curves()
    table = Table("tokens said right", *(f"r = {ratio}" for ratio in next(iter(curves.values()))))
    for name, row in curves.items():
        table.add_row(name, *(f"{100 * value:.2f} %" for value in row.values()))
    out.print(table)
