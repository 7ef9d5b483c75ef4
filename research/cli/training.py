"""``spanseek train``: train encoders and build training files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json, settings_with
from research.cli.default_calibrations import train_calibration, train_no_match
from research.cli.named_numbers import COUNT, NUMBER, named_numbers
from research.cli.recipes import print_report, run_recipe
from research.cli.train_cross_encoder import pseudo_label, train_cross_encoder
from research.cli.train_facets import train_facets
from research.cli.train_nugget import train_average_nuggets, train_nugget
from research.cli.train_nugget_lm import train_nugget_lm
from research.cli.train_restorable import train_restorable
from research.cli.train_span_score import train_span_score
from research.cli.train_verifier import train_verifier
from research.cli.train_whitening import train_whitening
from research.cli.train_word_vectors import train_word_vectors
from research.cli.training_options import (
    BackboneOption,
    CheckpointsOption,
    DataOption,
    DeviceOption,
    DrawOption,
    ExcludeOption,
    FolderOption,
    OutOption,
    RowsOption,
    SaveEveryOption,
    SeedOption,
    StepsOption,
    WeightOption,
)
from research.cli.verifying import train_verifier_scale
from research.training.builders import PAIRS, TRIPLETS, Kind, build
from research.training.sources import read_excluded

if TYPE_CHECKING:
    from research.training.batches import Shape
    from research.training.config import SliceConfig, Weights
    from research.training.losses import DistillationWeights

train_cli = typer.Typer(
    help="Train encoders, and build their training data.", no_args_is_help=True, rich_help_panel="Research"
)
train_cli.command("cross-encoder")(train_cross_encoder)
train_cli.command("pseudo-label")(pseudo_label)
train_cli.command("nugget")(train_nugget)
train_cli.command("average-nuggets")(train_average_nuggets)
train_cli.command("nugget-lm")(train_nugget_lm)
train_cli.command("whitening")(train_whitening)
train_cli.command("word-vectors")(train_word_vectors)
train_cli.command("facets")(train_facets)
train_cli.command("restorable")(train_restorable)
train_cli.command("calibration")(train_calibration)
train_cli.command("no-match")(train_no_match)
train_cli.command("span-score")(train_span_score)
train_cli.command("verifier")(train_verifier)
train_cli.command("verifier-scale")(train_verifier_scale)


def _kinds_help(kinds: Mapping[str, Kind]) -> str:
    by_default = (name for name, kind in kinds.items() if kind.by_default)
    return f"What to make: {', '.join(kinds)}; repeat for several. By default: {', '.join(by_default)}."


@train_cli.command("slice")
def train_slice(
    folder: OutOption,
    checkpoints: CheckpointsOption,
    data: DataOption = None,
    exclude: ExcludeOption = None,
    texts: Annotated[
        Path | None, typer.Option(help="Your own texts: NDJSON or plain text, also .gz, or a folder of them.")
    ] = None,
    pairs: Annotated[Path | None, typer.Option(help="Your own graded pairs, NDJSON.")] = None,
    triplets: Annotated[Path | None, typer.Option(help="Your own triplets, NDJSON.")] = None,
    steps: StepsOption = 2_000,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1e-4,
    seed: SeedOption = 13,
    weight: WeightOption = None,
    draw: DrawOption = None,
    save_every: SaveEveryOption = 50,
    backbone: BackboneOption = None,
    start: Annotated[Path | None, typer.Option(help="Weights to begin with, else the backbone's own.")] = None,
    teacher: Annotated[
        Path | None, typer.Option(help="Weights of the encoder that reads spans alone, else the backbone's own.")
    ] = None,
    frozen_layers: Annotated[int, typer.Option(min=0, help="How many of the lowest layers do not learn.")] = 0,
    discount: Annotated[
        float, typer.Option(min=0, help="Discount for short spans of the span score that spans are searched by.")
    ] = 0.0,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train the SLICE encoder. Repeating the command resumes from the last checkpoint."""
    # Imported here, because importing torch takes seconds.
    from research.training.config import SliceConfig
    from research.training.loop import Schedule

    settings = settings_with(backbone=backbone, device=device)
    weights, distillation = _weights(weight or ())
    config = SliceConfig(
        out=folder,
        checkpoints=checkpoints,
        data=data,
        exclude=exclude,
        texts=texts,
        pairs=pairs,
        triplets=triplets,
        backbone=settings.backbone,
        start=start,
        teacher=teacher,
        frozen_layers=frozen_layers,
        discount=discount,
        device=settings.device,
        seed=seed,
        save_every=save_every,
        schedule=Schedule(steps=steps, rate=rate),
        shape=_shape(draw or ()),
        weights=weights,
        distillation=distillation,
    )
    print_report(_train(config), steps, f"To use the weights, set SPANSEEK_WEIGHTS={folder}", as_json=as_json)


def _train(config: "SliceConfig") -> dict[str, Any]:
    """Train, with its progress on standard error; returns what ``--json`` prints."""
    from research.training import slice as recipe

    material = recipe.read_material(config)
    return run_recipe(
        lambda hooks: recipe.train_slice(config, material, hooks), config.schedule.steps, config.save_every, config
    )


def _weights(pairs: Iterable[str]) -> "tuple[Weights, DistillationWeights]":
    """The recipe's weights of the losses, and of the parts of the distillation, less what an option overrules."""
    from research.training.config import Weights
    from research.training.losses import DistillationWeights

    losses, parts = ([field.name for field in fields(of)] for of in (Weights, DistillationWeights))
    numbers = named_numbers(pairs, losses + parts, NUMBER, "weight of a loss", "weight", "graded=0.5")
    return (
        replace(Weights(), **{name: numbers[name] for name in losses if name in numbers}),
        replace(DistillationWeights(), **{name: numbers[name] for name in parts if name in numbers}),
    )


def _shape(pairs: Iterable[str]) -> "Shape":
    """Return the recipe's numbers of texts of each kind for a step, less what an option overrules."""
    from research.training.batches import Shape

    names = [field.name for field in fields(Shape)]
    counts = named_numbers(pairs, names, COUNT, "number of texts", "draw", "short=16")
    return replace(Shape(), **{name: int(value) for name, value in counts.items()})


@train_cli.command("average-slice")
def train_average_slice(
    data: FolderOption,
    folder: OutOption,
    of: Annotated[list[Path], typer.Option(help="Folder of weights; repeat for all that are to be averaged.")],
    untrained: Annotated[int, typer.Option(min=0, help="How often the backbone itself counts.")] = 0,
    frozen_layers: Annotated[
        int, typer.Option(min=0, help="How many of the lowest layers the backbone does not count in.")
    ] = 0,
    exclude: ExcludeOption = None,
    seed: SeedOption = 13,
    backbone: BackboneOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Average the SLICE checkpoints of several runs, and refit the projection to 128 dimensions."""
    # Imported here, because importing torch takes seconds.
    from research.training.checkpoint_averaging import average_slice
    from research.training.config import SliceConfig

    settings = settings_with(backbone=backbone, device=device)
    config = SliceConfig(
        out=folder,
        checkpoints=folder,
        data=data,
        exclude=exclude,
        seed=seed,
        backbone=settings.backbone,
        device=settings.device,
        frozen_layers=frozen_layers,
    )
    artifact = average_slice(of, config, untrained)
    if as_json:
        print_json({"folder": str(folder), "parts": len(of), "sha256": artifact.sha256})
    else:
        out.print(f"To use the weights, set SPANSEEK_WEIGHTS={folder}", soft_wrap=True, markup=False)


@train_cli.command("build-triplets")
def build_triplets(
    data: FolderOption,
    file: RowsOption,
    kind: Annotated[list[str] | None, typer.Option(help=_kinds_help(TRIPLETS))] = None,
    exclude: ExcludeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make triplets of the known sets: a query, a text that holds its meaning, one that does not."""
    _build(TRIPLETS, kind or [], data, file, exclude, as_json=as_json)


@train_cli.command("build-pairs")
def build_pairs(
    data: FolderOption,
    file: RowsOption,
    kind: Annotated[list[str] | None, typer.Option(help=_kinds_help(PAIRS))] = None,
    exclude: ExcludeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make graded pairs of the known sets: two texts and how alike they are, from 0 to 1."""
    _build(PAIRS, kind or [], data, file, exclude, as_json=as_json)


def _build(
    kinds: Mapping[str, Kind], names: Sequence[str], data: Path, file: Path, exclude: Path | None, *, as_json: bool
) -> None:
    counts = build(kinds, names, data, file, read_excluded(exclude))
    if as_json:
        rows = {name: {"rows": count, "licence": kinds[name].licence} for name, count in counts.items()}
        print_json({"out": str(file), "rows": sum(counts.values()), "kinds": rows})
        return
    table = Table("kind", "rows", "licence", "what")
    for name, count in counts.items():
        table.add_row(name, f"{count:,}", kinds[name].licence, kinds[name].what)
    out.print(table)
