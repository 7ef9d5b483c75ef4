"""``spanseek train nugget-lm``."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli.console import JsonOption, settings_with
from research.cli.recipes import print_report, run_recipe
from research.cli.training_options import CheckpointsOption, DeviceOption, SaveEveryOption, SeedOption, StepsOption


def train_nugget_lm(
    extract: Annotated[Path, typer.Option(help="Folder of a Wikipedia extract, *.gz in WikiExtractor's form.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder for the decoder.")],
    checkpoints: CheckpointsOption,
    cache: Annotated[Path, typer.Option(help="Folder for what stands for segments; runs may share it.")],
    tested: Annotated[
        list[Path] | None, typer.Option(help="WikiText file to be tested on; repeat for several.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="What stands for a segment, nuggets (the default) or mean; several take turns."),
    ] = None,
    texts: Annotated[
        Literal["articles", "sentences"], typer.Option(help="What is cut into segments: articles, or single sentences.")
    ] = "articles",
    ratio: Annotated[
        list[float] | None, typer.Option(help="Nuggets a token, above 0 and at most 1; of several all take turns.")
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="Who chooses, if not the weights' own: learned, chunk or sentence_boundary.")
    ] = None,
    segments: Annotated[int, typer.Option(min=1, help="Segments to learn from, about.")] = 6_000,
    length: Annotated[int, typer.Option(min=2, help="Tokens of a segment.")] = 64,
    history: Annotated[int, typer.Option(min=1, help="Most segments to look back.")] = 8,
    predicted: Annotated[int, typer.Option(min=0, help="Segments a step that are said from those before them.")] = 16,
    encoded: Annotated[int, typer.Option(min=0, help="Segments a step that are said from themselves.")] = 8,
    places: Annotated[
        bool, typer.Option("--places", help="Tell where in a text that is said from itself each nugget is.")
    ] = False,
    width: Annotated[int, typer.Option(min=8, help="Width of the decoder, a multiple of 8.")] = 256,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the decoder.")] = 2,
    steps: StepsOption = 1_000,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1e-3,
    seed: SeedOption = 13,
    save_every: SaveEveryOption = 50,
    encoder: Annotated[str | None, typer.Option(help="Encoder whose nuggets are read.")] = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a small language model that reads nuggets of what came before: section 6.2 of the Nugget paper."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from models.encoders.nuggets.base import check_ratio
    from research.nugget_lm.histories import kind_named
    from research.nugget_lm.nugget_lm import LmShape
    from research.nugget_lm.selectors import load_nuggets_by
    from research.training import nugget_lm as recipe
    from research.training.nugget_lm import NuggetLmConfig

    ratios = tuple(ratio or (0.1,))
    for each in ratios:
        check_ratio(each)
    settings = settings_with(device=device, encoder=encoder)
    config = NuggetLmConfig(
        out=folder,
        checkpoints=checkpoints,
        cache=cache,
        kinds=tuple(dict.fromkeys(kind_named(name) for name in kind or ["nuggets"])),
        ratios=ratios,
        selector=selector,
        segments=segments,
        predicted=predicted,
        encoded=encoded,
        seed=seed,
        save_every=save_every,
        shape=LmShape(width=width, layers=layers, segment=length, history=history, places=places),
    )
    config = replace(config, schedule=replace(config.schedule, steps=steps, rate=rate))
    apart = _texts_apart(extract, texts, tested or ())
    loaded = load_nuggets_by(selector, settings.encoder, settings.encoder_options)
    report = run_recipe(lambda hooks: recipe.train_nugget_lm(config, loaded, apart, hooks), steps, save_every, config)
    print_report(report, steps, f"`spanseek eval nugget-lm --model {folder}` measures it.", as_json=as_json)


def _texts_apart(extract: Path, what: str, tested: Iterable[Path]) -> Iterator[str]:
    """Articles or sentences that are neither held out nor share a run of words with what is tested."""
    from research.evaluation.wikipedia import is_held_out, long_texts, read_articles, single_sentences
    from research.evaluation.wikitext import apart_from, read_wikitext

    articles = (article for article in read_articles(extract) if not is_held_out(article))
    read = long_texts(articles) if what == "articles" else single_sentences(articles)
    return apart_from(read, (text for file in tested for text in read_wikitext(file)))
