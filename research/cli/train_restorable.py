"""``spanseek train restorable``."""

from typing import Annotated, Literal

import typer

from app.cli.console import JsonOption, settings_with
from research.cli.recipes import print_report, run_recipe
from research.cli.training_options import (
    CheckpointsOption,
    DeviceOption,
    FolderOption,
    OutOption,
    SaveEveryOption,
    SeedOption,
    StepsOption,
)

_COMPARED = "untrained"


def train_restorable(
    data: FolderOption,
    folder: OutOption,
    checkpoints: CheckpointsOption,
    pooling: Annotated[
        Literal["bound", "mean", "cls"], typer.Option(help="How token vectors become one; bound keeps their order.")
    ] = "bound",
    reading: Annotated[
        Literal["gating", "cross", "input"], typer.Option(help="How the decoder reads vectors.")
    ] = "gating",
    dim: Annotated[int, typer.Option(min=8, help="Numbers of a vector.")] = 768,
    width: Annotated[int, typer.Option(min=8, help="Width of encoder and decoder.")] = 256,
    stretch: Annotated[int, typer.Option(min=1, help="Tokens of one vector.")] = 32,
    vectors: Annotated[int, typer.Option(min=1, help="Most vectors of one text.")] = 8,
    vocabulary: Annotated[int, typer.Option(min=300, help="Tokens of the vocabulary, learnt from the texts.")] = 8192,
    backbone: Annotated[
        Literal["none", "frozen", "trained"], typer.Option(help="Whether the encoder stands on the backbone.")
    ] = "none",
    encoder_layers: Annotated[int, typer.Option(min=0, help="Layers of the encoder, above the backbone if any.")] = 2,
    decoder_layers: Annotated[int, typer.Option(min=1, help="Layers of the decoder.")] = 2,
    anchor: Annotated[
        float, typer.Option(min=0, help="Keep vectors near the mean of a frozen backbone's states: the loss's weight.")
    ] = 0.0,
    sentences: Annotated[int, typer.Option(min=0, help="Read so many sentences of Wikipedia beside dialogues.")] = (
        150_000
    ),
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of a step.")] = 2048,
    steps: StepsOption = 4_000,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1.5e-3,
    seed: SeedOption = 13,
    save_every: SaveEveryOption = 100,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train restorable embeddings. The same command, given again, goes on from the last checkpoint."""
    # Imported here, because importing torch takes seconds.
    from models.encoders.registry import load_encoder
    from models.encoders.restorable.shape import RestorableShape
    from research.training import restorable as recipe
    from research.training.loop import Schedule
    from research.training.restorable_data import learned_texts, read_material
    from research.training.restorable_start import begin

    settings = settings_with(device=device)
    options = settings.encoder_options
    texts = learned_texts(read_material(data, sentences, seed))
    shape = RestorableShape(
        dim=dim,
        width=width,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        stretch=stretch,
        vectors=vectors,
        pooling=pooling,
        reading=reading,
        frozen=backbone == "frozen",
    )
    named = "" if backbone == "none" else options.backbone
    start = begin(shape, texts, vocabulary, seed, named, settings.device)
    config = recipe.RestorableConfig(
        out=folder,
        checkpoints=checkpoints,
        seed=seed,
        tokens=tokens,
        save_every=save_every,
        shape=start.network.shape,
        schedule=Schedule(steps=steps, rate=rate),
        encoder=_COMPARED,
        sources=f"dialogues and {sentences} sentences of Wikipedia",
        anchor=anchor,
    )
    compared = load_encoder(_COMPARED, options).fingerprint
    report = run_recipe(
        lambda hooks: recipe.train_restorable(config, start, texts, hooks, encoder=compared), steps, save_every, config
    )
    print_report(report, steps, f"The weights are in {folder}", as_json=as_json)
