"""``spanseek train cross-encoder`` and ``spanseek train pseudo-label``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.console import JsonOption, out, print_json, settings_with
from app.settings import Settings
from models.errors import InvalidInput
from research.cli.recipes import print_report, run_recipe
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
    from research.training.pseudo_labels import PairScorer


def train_cross_encoder(
    data: FolderOption,
    folder: OutOption,
    checkpoints: CheckpointsOption,
    exclude: ExcludeOption = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Your own graded pairs, NDJSON, in addition to the known ones.")
    ] = None,
    steps: StepsOption = 640,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1e-4,
    seed: SeedOption = 13,
    save_every: SaveEveryOption = 50,
    backbone: BackboneOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a cross-encoder, which pseudo-labels pairs for encoders to learn from."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from research.training.cross_encoder import CrossEncoderConfig
    from research.training.cross_encoder import train_cross_encoder as recipe
    from research.training.loop import Schedule

    settings = settings_with(backbone=backbone, device=device)
    config = CrossEncoderConfig(
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
    print_report(
        report, steps, f"To label pairs: spanseek train pseudo-label --cross-encoder {folder}", as_json=as_json
    )


def pseudo_label(
    data: FolderOption,
    pairs: Annotated[Path, typer.Option(help="Pairs to label, NDJSON.")],
    cross_encoder: Annotated[Path, typer.Option(help="Folder of the cross-encoder.")],
    file: RowsOption,
    weights: Annotated[Path | None, typer.Option(help="Weights of the encoder, else those in use.")] = None,
    exclude: ExcludeOption = None,
    backbone: BackboneOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Label pairs by a cross-encoder and an encoder, weighted by least squares on human grades (STS-B dev)."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from research.training.own_texts import read_graded_pair_file
    from research.training.pseudo_labels import PseudoLabeller
    from research.training.sources import read_excluded, read_held_out_pairs, without

    excluded = read_excluded(exclude)
    all_pairs = read_graded_pair_file(pairs)
    unlabelled = without(all_pairs, excluded)
    if not unlabelled:
        raise InvalidInput(
            f"There are no pairs to label in {pairs}.", hint="Check --pairs and --exclude.", field="pairs"
        )
    scorers = _scorers(cross_encoder, weights, settings_with(backbone=backbone, device=device))
    labeller = PseudoLabeller(scorers, read_held_out_pairs(data, excluded))
    labelled = labeller.label([(pair.query, pair.paraphrase) for pair in unlabelled])
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as opened:
        opened.writelines(json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in labelled)
    left_out = len(all_pairs) - len(unlabelled)
    correlations = dict(zip(("cross_encoder", "encoder", "both"), labeller.correlations, strict=True))
    if as_json:
        print_json({"out": str(file), "rows": len(labelled), "left_out": left_out, "correlations": correlations})
        return
    exclusions = f", {left_out:,} left out (--exclude)" if left_out else ""
    figures = ", ".join(f"{name} {value:.3f}" for name, value in correlations.items())
    text = f"{len(labelled):,} pairs labelled{exclusions}. Correlation with human grades: {figures}."
    out.print(text, soft_wrap=True, markup=False)


def _scorers(cross_encoder: Path, weights: Path | None, settings: Settings) -> "list[PairScorer]":
    """A cross-encoder, and an encoder of single texts."""
    from models.artifacts import SHIPPED, load_artifact
    from models.backbones.torch_network import load_backbone
    from models.encoders.slice import put_in_place
    from research.training.cross_encoder import load_cross_encoder
    from research.training.pseudo_labels import cosines_of

    encoder = load_backbone(settings.backbone, device=settings.device)
    put_in_place(encoder, load_artifact(weights or settings.weights or SHIPPED / "slice"))
    return [load_cross_encoder(cross_encoder, settings.backbone, settings.device).scores, cosines_of(encoder)]
