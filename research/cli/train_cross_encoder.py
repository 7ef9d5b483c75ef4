"""``spanseek train judge`` and ``grade-pairs``: grades for pairs that no one graded."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.console import JsonOption, out, print_json, settings_with
from app.settings import Settings
from models.errors import InvalidInput
from research.cli.recipes import run_recipe, tell_of_run
from research.cli.training_options import (
    BackboneOption,
    CheckpointsOption,
    DeviceOption,
    ExcludeOption,
    FolderOption,
    OutOption,
    RowsOption,
    SaveEveryOption,
    SeedOption,
    StepsOption,
)

if TYPE_CHECKING:
    from research.training.pseudo_labels import Reader


def train_judge(
    data: FolderOption,
    folder: OutOption,
    checkpoints: CheckpointsOption,
    exclude: ExcludeOption = None,
    pairs: Annotated[Path | None, typer.Option(help="Your own graded pairs, NDJSON, beside the known ones.")] = None,
    steps: StepsOption = 640,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1e-4,
    seed: SeedOption = 13,
    save_every: SaveEveryOption = 50,
    backbone: BackboneOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a network that reads both texts of a pair at once, to grade pairs for encoders to learn from."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from research.training.cross_encoder import JudgeConfig
    from research.training.cross_encoder import train_judge as recipe
    from research.training.loop import Schedule

    settings = settings_with(backbone=backbone, device=device)
    config = JudgeConfig(
        out=folder,
        checkpoints=checkpoints,
        data=data,
        exclude=exclude,
        pairs=pairs,
        backbone=settings.backbone,
        device=settings.device,
        seed=seed,
        save_every=save_every,
        schedule=Schedule(steps=steps, rate=rate),
    )
    report = run_recipe(lambda hooks: recipe(config, hooks), steps, save_every, config)
    tell_of_run(report, steps, f"To grade pairs: spanseek train grade-pairs --judge {folder}", as_json=as_json)


def grade_pairs(
    data: FolderOption,
    pairs: Annotated[Path, typer.Option(help="Pairs to grade anew, NDJSON.")],
    judge: Annotated[Path, typer.Option(help="Folder of the judge.")],
    file: RowsOption,
    weights: Annotated[Path | None, typer.Option(help="Weights of the encoder beside it, else those in use.")] = None,
    exclude: ExcludeOption = None,
    backbone: BackboneOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Grade pairs by a judge and an encoder together, weighted as pairs that people graded (STS-B dev) say is best."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from research.training.own_texts import read_own_pairs
    from research.training.pseudo_labels import Grader
    from research.training.sources import read_excluded, read_held_out_pairs, without

    excluded = read_excluded(exclude)
    read = read_own_pairs(pairs)
    asked = without(read, excluded)
    if not asked:
        raise InvalidInput(
            f"There are no pairs to grade in {pairs}.", hint="Check --pairs and --exclude.", field="pairs"
        )
    readers = _readers(judge, weights, settings_with(backbone=backbone, device=device))
    grader = Grader(readers, read_held_out_pairs(data, excluded))
    graded = grader.graded([(pair.query, pair.paraphrase) for pair in asked])
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as opened:
        opened.writelines(json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in graded)
    left_out = len(read) - len(asked)
    correlations = dict(zip(("judge", "encoder", "both"), grader.correlations, strict=True))
    if as_json:
        print_json({"out": str(file), "rows": len(graded), "left_out": left_out, "correlations": correlations})
        return
    excluded_too = f", {left_out:,} left out (--exclude)" if left_out else ""
    said = ", ".join(f"{name} {found:.3f}" for name, found in correlations.items())
    text = f"{len(graded):,} pairs graded{excluded_too}. Correlation with people's grades: {said}."
    out.print(text, soft_wrap=True, markup=False)


def _readers(judge: Path, weights: Path | None, settings: Settings) -> "list[Reader]":
    """A judge, and an encoder that reads texts alone."""
    from models.artifacts import SHIPPED, load_artifact
    from models.backbones import load_backbone
    from models.encoders.slice import put_in_place
    from research.training.cross_encoder import load_judge
    from research.training.pseudo_labels import cosines_of

    encoder = load_backbone(settings.backbone, device=settings.device)
    put_in_place(encoder, load_artifact(weights or settings.weights or SHIPPED / "slice"))
    return [load_judge(judge, settings.backbone, settings.device).grades, cosines_of(encoder)]
