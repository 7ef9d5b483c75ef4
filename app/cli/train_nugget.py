"""``spanseek train nugget``."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.console import JsonOption, err, out, print_json, settings_with
from app.cli.named_numbers import COUNT, NUMBER, named_numbers
from app.cli.run_recipe import run_recipe


def train_nugget(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the weights.")],
    checkpoints: Annotated[Path, typer.Option(help="Folder for checkpoint and loss curve.")],
    data: Annotated[Path | None, typer.Option(help="Folder of the known sets.")] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Your own aligned texts: source, tab, target on every line.")
    ] = None,
    exclude: Annotated[Path | None, typer.Option(help="STS-B-Context file whose sentences are not trained on.")] = None,
    layer: Annotated[int, typer.Option(min=0, help="Layers at the bottom that are shared and frozen.")] = 3,
    selector: Annotated[str, typer.Option(help="learned, chunk or sentence_boundary.")] = "learned",
    no_feedback: Annotated[
        bool, typer.Option("--no-feedback", help="Do not tell the upper layers which tokens are nuggets.")
    ] = False,
    ratio_from: Annotated[float, typer.Option(help="Lowest ratio of nuggets that a step may draw.")] = 0.05,
    ratio_to: Annotated[float, typer.Option(help="Highest ratio of nuggets that a step may draw.")] = 0.25,
    delete: Annotated[float, typer.Option(min=0, max=0.9, help="Share of tokens deleted before auto-encoding.")] = 0.0,
    steps: Annotated[int, typer.Option(min=1, help="Steps to make.")] = 600,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate of the upper layers.")] = 1e-4,
    seed: Annotated[int, typer.Option(help="Decides all that is drawn.")] = 13,
    weight: Annotated[
        list[str] | None, typer.Option(help="What a loss counts, NAME=NUMBER; repeat for several.")
    ] = None,
    draw: Annotated[list[str] | None, typer.Option(help="What a step draws, NAME=NUMBER; repeat for several.")] = None,
    save_every: Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")] = 50,
    backbone: Annotated[str | None, typer.Option(help="Backbone to begin with.")] = None,
    start: Annotated[Path | None, typer.Option(help="Nugget weights to begin with, else SLICE's layers.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Train nuggets on a SLICE encoder. The same command, given again, goes on from the last checkpoint."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from models.encoders.nugget import check_ratio
    from models.training import nugget as recipe
    from models.training.loop import Schedule
    from models.training.nugget_config import NuggetConfig, NuggetWeights
    from models.training.nugget_data import NuggetShape

    for ratio in (ratio_from, ratio_to):
        check_ratio(ratio)
    settings = settings_with(backbone=backbone, device=device)
    counts = [field.name for field in fields(NuggetShape) if field.type in (int, "int")]
    drawn = named_numbers(draw or (), counts, COUNT, "number of what a step draws", "draw", "documents=16")
    whole: dict[str, Any] = {name: int(value) for name, value in drawn.items()}
    losses = [field.name for field in fields(NuggetWeights)]
    config = NuggetConfig(
        out=folder,
        checkpoints=checkpoints,
        data=data,
        pairs=pairs,
        exclude=exclude,
        weights_of_slice=settings.weights,
        start=start,
        backbone=settings.backbone,
        device=settings.device,
        seed=seed,
        layer=layer,
        selector=selector,
        feedback=not no_feedback,
        lowest_ratio=min(ratio_from, ratio_to),
        highest_ratio=max(ratio_from, ratio_to),
        delete=delete,
        save_every=save_every,
        schedule=Schedule(steps=steps, rate=rate),
        shape=replace(NuggetShape(), **whole),
        weights=NuggetWeights(**_weights(weight or [], losses)),
    )
    texts = recipe.read_material(config)
    report = run_recipe(lambda hooks: recipe.train_nugget(config, texts, hooks), steps, save_every, config)
    made = report["steps"]
    if as_json:
        print_json(report)
    else:
        told = f"{made} steps made. To use the weights, set SPANSEEK_NUGGET_WEIGHTS={folder}"
        out.print(told, soft_wrap=True, markup=False)
    if made < steps:
        err.print(f"Stopped after step {made}. Give the same command again to go on from here.")
        raise typer.Exit(130)


def _weights(pairs: list[str], known: list[str]) -> dict[str, float]:
    """What an option says that losses count."""
    return named_numbers(pairs, known, NUMBER, "weight of a loss", "weight", "contrastive=0.5")
