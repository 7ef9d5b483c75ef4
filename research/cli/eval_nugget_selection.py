"""``spanseek eval nugget-selection``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json, settings_with
from app.search.encoders import Encoders

if TYPE_CHECKING:
    from research.evaluation.nugget_selection import Gains
    from research.evaluation.plots import Panel

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
    """Which tokens become nuggets, and where each one helps: figures 5, 7 and 8 of the Nugget paper."""
    from models.artifacts import load_artifact
    from models.errors import InvalidInput
    from research.evaluation.nugget_lm import kinds_of, ratios_of, segments_of
    from research.evaluation.nugget_selection import chosen_tokens, rows_of, single_nugget_gains
    from research.evaluation.plots import check_format, save_bars, save_panels
    from research.evaluation.wikitext import read_wikitext
    from research.nugget_lm.histories import kept_histories
    from research.nugget_lm.nugget_lm import backbone_of, load_language_model

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
    loaded = Encoders(replace(settings.encoder_options, nugget_selector=chooser)).load_nuggets(settings.encoder)
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
        found: dict[str, Any] = {"segments": len(cut), "chosen": list(rows_of(chosen)), "gains": gains.as_json()}
        print_json(found)
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
