"""``spanseek train word-vectors``."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import JsonOption, out, print_json
from research.cli.training_options import OutOption, SeedOption


def train_word_vectors(
    extract: Annotated[Path, typer.Option(help="Folder of a Wikipedia extract.")],
    folder: OutOption,
    words: Annotated[int, typer.Option(min=2, help="The most frequent words, so many.")] = 30_000,
    dim: Annotated[int, typer.Option(min=1, help="Dimensions.")] = 200,
    window: Annotated[int, typer.Option(min=1, help="Words on each side that co-occur with a word.")] = 5,
    seed: SeedOption = 13,
    as_json: JsonOption = False,
) -> None:
    """Learn word vectors of a Wikipedia extract, less a tenth of its articles, which are held out."""
    from models.word_vectors import save_word_vectors
    from research.evaluation.wikipedia import read_articles
    from research.training.word_vectors import WordVectorShape, article_texts, learn_word_vectors

    shape = WordVectorShape(words=words, dim=dim, window=window, seed=seed)
    vectors = learn_word_vectors(article_texts(read_articles(extract)), shape)
    sha256 = save_word_vectors(folder, vectors, {"recipe": "ppmi-svd.v1", **shape.facts()})
    if as_json:
        print_json({"folder": str(folder), "words": len(vectors.words), "dim": vectors.dim, "sha256": sha256})
    else:
        out.print(f"{len(vectors.words):,} words of {vectors.dim} dimensions are in {folder}", soft_wrap=True)
