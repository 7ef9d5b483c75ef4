"""``spanseek eval nugget-lm``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json, settings_with

if TYPE_CHECKING:
    from research.evaluation.nugget_lm import LmReport
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from research.evaluation.auto_encoding import AutoEncodingReport
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from research.evaluation.nugget_selection import Gains
    from research.evaluation.plots import Panel


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
    """Measure how much of a sentence its nuggets hold: the share of tokens decoded right, by ratio and selector."""
    from models.artifacts import load_artifact
    from models.encoders.nuggets.base import check_ratio
    from research.evaluation.auto_encoding import RATIOS, AutoEncodingReport, decode_all, selector_of
    from research.evaluation.nugget_lm import named
    from research.evaluation.plots import check_format, save_curves
    from research.evaluation.wikipedia import held_out_sentences
    from research.nugget_lm.nugget_lm import backbone_of
    from research.nugget_lm.segments import cut_segments
    from research.nugget_lm.selectors import load_nuggets_by

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
        loaded = load_nuggets_by(chosen, settings.encoder, settings.encoder_options)
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
        _print_auto_encoding(report)


def _print_auto_encoding(report: "AutoEncodingReport") -> None:
    """Accuracies, a row a selector."""
    curves = report.curves()
    table = Table("tokens said right", *(f"r = {ratio}" for ratio in next(iter(curves.values()))))
    for name, row in curves.items():
        table.add_row(name, *(f"{100 * value:.2f} %" for value in row.values()))
    out.print(table)


_SHOWN = 12
_NTHS = (1, 3, 5)  # the second, fourth and sixth nugget: a segment has fewer of them than the paper's documents


def eval_nugget_selection(
    data: Annotated[Path, typer.Option(help="A file of WikiText, as test.txt.gz.")],
    model: Annotated[Path, typer.Option(help="Folder that `spanseek train nugget-lm` wrote.")],
    cache: Annotated[Path, typer.Option(help="Folder for what stands for segments.")],
    segments: Annotated[
        int | None, typer.Option(min=1, help="Only the first articles, until so many segments.")
    ] = None,
    probed: Annotated[int, typer.Option(min=1, help="Segments whose nuggets are read one at a time.")] = 200,
    plot: Annotated[Path | None, typer.Option(help="Draw which tokens are chosen into this file.")] = None,
    plot_gains: Annotated[Path | None, typer.Option(help="Draw what a single nugget tells into this file.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Encoder whose nuggets are read.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which tokens become nuggets, and where each one helps: figures 5, 7 and 8 of the Nugget paper."""
    from models.artifacts import load_artifact
    from models.errors import InvalidInput
    from research.evaluation.nugget_lm import kinds_of, ratios_of, segments_of
    from research.evaluation.nugget_selection import chosen_tokens, rows_of, single_nugget_gains
    from research.evaluation.plots import check_format, save_bars, save_panels
    from research.evaluation.wikitext import read_wikitext
    from research.nugget_lm.histories import kept_histories
    from research.nugget_lm.nugget_lm import backbone_of, load_language_model
    from research.nugget_lm.selectors import load_nuggets_by

    for file in filter(None, (plot, plot_gains)):
        check_format(file)
    settings = settings_with(encoder=encoder, device=device)
    artifact = load_artifact(model)
    if "nuggets" not in kinds_of(artifact):
        raise InvalidInput(
            f"The model in {model} reads means, not nuggets.", hint="Train one with --kind nuggets.", field="model"
        )
    # Nuggets are chosen as when the decoder learnt to read them.
    chooser: Any = artifact.config.get("selector")
    loaded = load_nuggets_by(chooser, settings.encoder, settings.encoder_options)
    network, backbone = load_language_model(artifact, loaded), backbone_of(loaded)
    cut = segments_of(loaded, read_wikitext(data), network.shape.segment, segments)
    histories = kept_histories(loaded, cut, ratios_of(artifact)[:1], cache)["nuggets"]
    chosen = chosen_tokens(backbone, cut, histories, _SHOWN)
    gains = single_nugget_gains(network, backbone, cut, histories, probed)
    if plot:
        bars = {"nuggets": [one.of_nuggets for one in chosen], "text": [one.of_text for one in chosen]}
        save_bars(plot, bars, [one.token for one in chosen], "share")
    if plot_gains:
        save_panels(plot_gains, _panels(gains))
    if as_json:
        report: dict[str, Any] = {"segments": len(cut), "chosen": list(rows_of(chosen)), "gains": gains.as_json()}
        print_json(report)
        return
    table = Table("token", "share of nuggets", "share of text")
    for one in chosen:
        table.add_row(one.token, f"{one.of_nuggets:.3f}", f"{one.of_text:.3f}")
    out.print(table)


def _panels(gains: "Gains") -> "list[Panel]":
    """Figure 8, and figure 7 for some nuggets."""
    from research.evaluation.plots import Panel

    names = {nth: f"nugget {nth + 1}" for nth in _NTHS if nth in gains.by_place}
    by_place = {name: gains.by_place[nth] for nth, name in names.items()}
    where = {name: gains.nugget_places[nth] for nth, name in names.items()}
    return [
        Panel({"all nuggets": gains.by_distance}, "tokens behind the nugget", "gain in probability"),
        Panel(by_place, "token of the segment", "gain in probability"),
        Panel(where, "token of the segment", "where the nugget is"),
    ]


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
    from research.nugget_lm.selectors import load_nuggets_by

    if plot:
        check_format(plot)
    settings = settings_with(encoder=encoder, device=device)
    artifacts = {folder: load_artifact(folder) for folder in model}
    readers = [(folder, kind) for folder, artifact in artifacts.items() for kind in kinds_of(artifact)]
    loaded = load_nuggets_by(None, settings.encoder, settings.encoder_options)
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
