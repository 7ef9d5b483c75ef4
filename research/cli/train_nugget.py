"""``spanseek train nugget``, and the average of several runs of it."""

from collections.abc import Iterable
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.console import JsonOption, out, print_json, settings_with
from research.cli.named_numbers import COUNT, NUMBER, named_numbers
from research.cli.recipes import print_report, run_recipe
from research.cli.training_options import (
    BackboneOption,
    CheckpointsOption,
    DataOption,
    DeviceOption,
    DrawOption,
    ExcludeOption,
    OutOption,
    SaveEveryOption,
    SeedOption,
    StepsOption,
    WeightOption,
)

if TYPE_CHECKING:
    from research.training.config import NuggetWeights
    from research.training.nugget_data import NuggetShape, Sections


def train_nugget(
    folder: OutOption,
    checkpoints: CheckpointsOption,
    data: DataOption = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Your own aligned texts: source, tab, target on every line.")
    ] = None,
    exclude: ExcludeOption = None,
    extract: Annotated[
        Path | None, typer.Option(help="Folder of a Wikipedia extract, for --draw of_articles=N.")
    ] = None,
    skip: Annotated[int, typer.Option(min=0, help="Leave out the first so many articles of the extract.")] = 0,
    layer: Annotated[int, typer.Option(min=0, help="Layers at the bottom that are shared and frozen.")] = 3,
    selector: Annotated[str, typer.Option(help="learned, chunk or sentence_boundary.")] = "learned",
    gather: Annotated[str, typer.Option(help="What a nugget is made of: token or segment.")] = "segment",
    no_feedback: Annotated[
        bool, typer.Option("--no-feedback", help="Do not tell the upper layers which tokens are nuggets.")
    ] = False,
    ratio_from: Annotated[float, typer.Option(help="Lowest ratio of nuggets that a step may draw.")] = 0.05,
    ratio_to: Annotated[float, typer.Option(help="Highest ratio of nuggets that a step may draw.")] = 0.25,
    delete: Annotated[float, typer.Option(min=0, max=0.9, help="Share of tokens deleted before auto-encoding.")] = 0.0,
    steps: StepsOption = 600,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate of the upper layers.")] = 1e-4,
    seed: SeedOption = 13,
    weight: WeightOption = None,
    draw: DrawOption = None,
    save_every: SaveEveryOption = 50,
    backbone: BackboneOption = None,
    start: Annotated[Path | None, typer.Option(help="Nugget weights to begin with, else SLICE's layers.")] = None,
    upper: Annotated[str, typer.Option(help="Whose upper layers to begin with: slice or backbone.")] = "slice",
    scorer: Annotated[Path | None, typer.Option(help="Nugget weights whose scorer to begin with.")] = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train nuggets on a SLICE encoder. The same command, given again, goes on from the last checkpoint."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from models.encoders.nuggets.base import check_ratio
    from models.encoders.nuggets.parts import gather_named
    from research.training import nugget as recipe
    from research.training.config import NuggetConfig, upper_named
    from research.training.loop import Schedule

    for ratio in (ratio_from, ratio_to):
        check_ratio(ratio)
    settings = settings_with(backbone=backbone, device=device)
    config = NuggetConfig(
        out=folder,
        checkpoints=checkpoints,
        data=data,
        pairs=pairs,
        exclude=exclude,
        weights_of_slice=settings.weights,
        start=start,
        scorer=scorer,
        upper=upper_named(upper),
        backbone=settings.backbone,
        device=settings.device,
        seed=seed,
        layer=layer,
        selector=selector,
        feedback=not no_feedback,
        gather=gather_named(gather),
        lowest_ratio=min(ratio_from, ratio_to),
        highest_ratio=max(ratio_from, ratio_to),
        delete=delete,
        save_every=save_every,
        schedule=Schedule(steps=steps, rate=rate),
        shape=_shape(draw or ()),
        weights=_weights(weight or ()),
    )
    texts = replace(recipe.read_material(config), articles=_articles(extract, skip) if extract else ())
    report = run_recipe(lambda hooks: recipe.train_nugget(config, texts, hooks), steps, save_every, config)
    print_report(report, steps, f"To use the weights, set SPANSEEK_NUGGET_WEIGHTS={folder}", as_json=as_json)


def train_average_nuggets(
    folder: OutOption,
    of: Annotated[list[Path], typer.Option(help="Folder of nugget weights; repeat for all that are to be averaged.")],
    as_json: JsonOption = False,
) -> None:
    """Average nugget weights of several runs that began with the same weights."""
    from research.training.checkpoint_averaging import average_nuggets

    artifact = average_nuggets(of, folder)
    if as_json:
        print_json({"folder": str(folder), "parts": len(of), "sha256": artifact.sha256})
    else:
        out.print(f"To use the weights, set SPANSEEK_NUGGET_WEIGHTS={folder}", soft_wrap=True, markup=False)


def _articles(extract: Path, skip: int) -> "list[Sections]":
    """Articles with a lead and another section that a step can read."""
    from research.evaluation.passage_set import Recipe
    from research.evaluation.wikipedia import read_articles
    from research.training.nugget_data import Sections

    fits = Recipe(shortest=40, longest=260).fits
    articles = []
    for article in islice(read_articles(extract), skip, None):
        lead, *others = (" ".join(section.paragraphs) for section in article.sections)
        if fits(lead) and (sections := [text for text in others if fits(text)]):
            articles.append(Sections(lead, sections))
    return articles


def _weights(pairs: Iterable[str]) -> "NuggetWeights":
    """The recipe's weights of the losses, less what an option overrules."""
    from research.training.config import NuggetWeights

    names = [field.name for field in fields(NuggetWeights)]
    return NuggetWeights(**named_numbers(pairs, names, NUMBER, "weight of a loss", "weight", "contrastive=0.5"))


def _shape(pairs: Iterable[str]) -> "NuggetShape":
    """Return the recipe's draw for a step, less what an option overrules."""
    from research.training.nugget_data import NuggetShape

    names = [field.name for field in fields(NuggetShape) if field.type in (int, "int")]
    counts = named_numbers(pairs, names, COUNT, "number of what a step draws", "draw", "documents=16")
    # Counts alone are known, so that all are whole.
    whole: dict[str, Any] = {name: int(value) for name, value in counts.items()}
    return replace(NuggetShape(), **whole)
