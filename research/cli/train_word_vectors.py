"""``spanseek train word-vectors``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli.console import JsonOption, out, print_json
from research.cli.training_options import OutOption, SeedOption


def train_word_vectors(
    extract: Annotated[Path, typer.Option(help="Folder of a Wikipedia extract.")],
    folder: OutOption,
    of: Annotated[
        Literal["backbone", "co-occurrences"],
        typer.Option(help="What places a word: the frozen backbone, or the words that it stands near."),
    ] = "backbone",
    words: Annotated[int, typer.Option(min=2, help="The most frequent words, so many.")] = 30_000,
    dim: Annotated[int, typer.Option(min=1, help="Dimensions.")] = 200,
    window: Annotated[int, typer.Option(min=1, help="Words on each side that co-occur with a word.")] = 5,
    seed: SeedOption = 13,
    as_json: JsonOption = False,
) -> None:
    """Learn word vectors of a Wikipedia extract, less a tenth of its articles, which are held out."""
    from app.settings import Settings
    from models.encoders.registry import load_encoder, untrained_over
    from models.types import JsonValue
    from research.evaluation.wikipedia import read_articles
    from research.training.word_vector_files import save_word_vectors
    from research.training.word_vectors import (
        WordVectorShape,
        article_texts,
        encode_word_vectors,
        learn_word_vectors,
    )
    from spanseek_facets.readers import EncoderReader

    shape = WordVectorShape(words=words, dim=dim, window=window, seed=seed)
    texts = article_texts(read_articles(extract))
    if of == "backbone":
        options = Settings().encoder_options
        frozen = untrained_over(options.backbone)
        reader = EncoderReader(load_encoder(frozen, options))
        vectors = encode_word_vectors(texts, shape, reader)
        config: dict[str, JsonValue] = {
            "recipe": "backbone.v1",
            "words": words,
            "dim": dim,
            "encoder": {"name": frozen, "fingerprint": reader.fingerprint},
        }
    else:
        vectors = learn_word_vectors(texts, shape)
        config = {"recipe": "ppmi-svd.v1", **shape.facts()}
    sha256 = save_word_vectors(folder, vectors, config)
    if as_json:
        print_json({"folder": str(folder), "words": len(vectors.words), "dim": vectors.dim, "sha256": sha256})
    else:
        out.print(f"{len(vectors.words):,} words of {vectors.dim} dimensions are in {folder}", soft_wrap=True)
