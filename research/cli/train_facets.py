"""``spanseek train facets``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli.console import JsonOption
from research.cli.recipes import print_report, run_recipe
from research.cli.training_options import (
    CheckpointsOption,
    ExcludeOption,
    OutOption,
    SaveEveryOption,
    SeedOption,
    StepsOption,
)


def train_facets(
    extract: Annotated[Path, typer.Option(help="Folder of a Wikipedia extract.")],
    words: Annotated[
        Path, typer.Option(help="Word vectors: a folder of spanseek train word-vectors, or a text file of GloVe.")
    ],
    folder: OutOption,
    checkpoints: CheckpointsOption,
    exclude: ExcludeOption = None,
    facets: Annotated[int, typer.Option(min=1, help="Vectors for each text.")] = 10,
    of: Annotated[Literal["sentences", "phrases"], typer.Option(help="What facets are of.")] = "sentences",
    loss: Annotated[Literal["nnsc", "kmeans"], typer.Option(help="How facets are matched with words.")] = "nnsc",
    texts: Annotated[int, typer.Option(min=1, help="Read so many sentences, or phrases.")] = 200_000,
    encoder: Annotated[
        Literal["small", "backbone"],
        typer.Option(help="Who reads a text: a small transformer over word vectors, or the frozen backbone."),
    ] = "backbone",
    encoder_layers: Annotated[
        int | None, typer.Option(min=0, help="Layers that read the words, or the backbone's tokens; 1, or 0 for these.")
    ] = None,
    decoder_layers: Annotated[
        int | None, typer.Option(min=1, help="Layers that make the facets; 2, or 1 for one facet.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Texts of a step.")] = 64,
    steps: StepsOption = 2_000,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1e-3,
    seed: SeedOption = 13,
    save_every: SaveEveryOption = 100,
    as_json: JsonOption = False,
) -> None:
    """Train facets of sentences or phrases. The same command, given again, goes on from the last checkpoint."""
    # Imported here, because importing torch takes seconds.
    from app.settings import Settings
    from models.encoders.registry import load_encoder, untrained_over
    from research.evaluation.wikipedia import read_articles
    from research.training import facets as recipe
    from research.training.facet_data import read_neighbourhoods
    from research.training.loop import Schedule
    from research.training.sources import read_excluded
    from research.training.word_vector_files import read_word_vectors
    from spanseek_facets.forward import FacetShape
    from spanseek_facets.readers import EncoderReader, Reader, WordReader

    vectors, is_small, options = read_word_vectors(words), encoder == "small", Settings().encoder_options
    frozen = untrained_over(options.backbone)
    reader: Reader = WordReader(vectors) if is_small else EncoderReader(load_encoder(frozen, options))
    config = recipe.FacetConfig(
        out=folder,
        checkpoints=checkpoints,
        kind=of,
        loss=loss,
        seed=seed,
        batch=batch,
        save_every=save_every,
        shape=FacetShape(
            facets=facets,
            dim=vectors.dim,
            encoder_layers=int(is_small) if encoder_layers is None else encoder_layers,
            decoder_layers=decoder_layers or (1 if facets == 1 else 2),
            attention=of == "sentences",
            encoder=encoder,
            read_dim=0 if is_small else reader.dim,
        ),
        encoder=frozen,
        schedule=Schedule(steps=steps, rate=rate),
    )
    material = read_neighbourhoods(read_articles(extract), vectors, of, texts, read_excluded(exclude), reader)
    report = run_recipe(
        lambda hooks: recipe.train_facets(config, vectors, material, hooks, reader), steps, save_every, config
    )
    print_report(report, steps, f"The weights are in {folder}", as_json=as_json)
