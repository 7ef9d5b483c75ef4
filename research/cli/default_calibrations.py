"""``spanseek train calibration`` and ``spanseek train no-match``: what scores mean out of the box."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import JsonOption, checked_store, err, print_json
from app.encoders.encoders import Encoders
from app.settings import Settings
from models.encoders.registry import EncoderOptions, weights_folder
from models.errors import InvalidInput
from research.training.sources import read_excluded

DataOption = Annotated[Path, typer.Option(help="Folder of the known sets.")]
SeedOption = Annotated[int, typer.Option(help="Decides all that is drawn.")]


def train_calibration(
    data: DataOption,
    encoder: Annotated[list[str] | None, typer.Option(help="Encoder with trained weights; repeat for several.")] = None,
    exclude: Annotated[
        Path | None, typer.Option(help="STS-B-Context file; pairs with one of its sentences are left out.")
    ] = None,
    seed: SeedOption = 13,
    as_json: JsonOption = False,
) -> None:
    """Fit the default calibration of trained weights, and write it beside them: what scores mean out of the box."""
    from dataclasses import replace

    from models.encoders.calibrations import write_default
    from research.training.default_calibration import fit_default
    from research.training.texts import read_texts

    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    names = encoder or ["slice", "slice128"]
    folders = {name: _folder(name, settings.encoder_options) for name in names}
    # Read first, so that an unreadable file is reported before minutes of work.
    before = {name: encoders.default_calibration(name) for name in names}
    texts = read_texts(data, read_excluded(exclude))
    report = {}
    for name, folder in folders.items():
        loaded = encoders.load(name)
        made = fit_default(loaded, texts, seed, encoders.span_score(name, loaded.fingerprint))
        # How high unrelated text scores was measured on raw, of the same weights and score: it holds for any map.
        previous = before[name]
        measured = previous is not None and previous.span_score == made.span_score
        calibration = replace(made, no_match=previous.no_match) if previous and measured else made
        path = write_default(folder, loaded.fingerprint, calibration)
        err.print(f"{name}: {made.method}, of {made.pairs:,} pairs, in {path}", soft_wrap=True, markup=False)
        report[name] = {"method": made.method, "pairs": made.pairs, **made.figures}
    if as_json:
        print_json(report)


def train_no_match(
    collection: Annotated[
        list[str], typer.Option("--collection", "-c", help="Text that has nothing to do with the phrases; repeatable.")
    ],
    data: DataOption,
    phrases: Annotated[int, typer.Option(min=10, help="How many captions to ask for.")] = 100,
    seed: SeedOption = 13,
    as_json: JsonOption = False,
) -> None:
    """Measure how high unrelated text scores, by how much of it there is, and write it to the default calibration."""
    from dataclasses import asdict, replace

    from models.encoders.calibrations import write_default
    from research.training.default_calibration import draw_captions, measure_no_match

    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    with checked_store(settings) as store:
        snapshots = {name: store.snapshot(name) for name in collection}
        recipes = {snapshot.recipe for snapshot in snapshots.values()}
        if len(recipes) > 1:
            raise InvalidInput("The collections have different recipes.", hint="Index them alike.", field="collection")
        (recipe,) = recipes
        made, folder = encoders.default_calibration(recipe.encoder), _folder(recipe.encoder, settings.encoder_options)
        score = encoders.span_score(recipe.encoder, recipe.fingerprint)
        if made is None or made.span_score != score.fingerprint:
            raise InvalidInput(
                f"{recipe.encoder} has no default calibration yet that was fitted to its span score.",
                hint="Make it with spanseek train calibration.",
                field="collection",
            )
        captions = draw_captions(data, phrases, seed)
        no_match = measure_no_match(snapshots, encoders.matching(recipe), captions, score=score)
    path = write_default(folder, recipe.fingerprint, replace(made, no_match=no_match))
    err.print(f"{recipe.encoder}: {len(no_match.units)} sizes, in {path}", soft_wrap=True, markup=False)
    if as_json:
        print_json(asdict(no_match))


def _folder(name: str, options: EncoderOptions) -> Path:
    folder = weights_folder(name, options)
    if folder is None:
        raise InvalidInput(
            f"{name} has no trained weights to write beside.", hint="Use slice or slice128.", field="encoder"
        )
    return folder
