"""``spanseek train verifier``."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import JsonOption, settings_with
from research.cli.recipes import print_report, run_recipe
from research.cli.training_options import (
    BackboneOption,
    CheckpointsOption,
    DeviceOption,
    ExcludeOption,
    FolderOption,
    OutOption,
    SaveEveryOption,
    SeedOption,
    StepsOption,
)


def train_verifier(
    data: FolderOption,
    folder: OutOption,
    checkpoints: CheckpointsOption,
    exclude: ExcludeOption = None,
    changed: Annotated[
        Path | None, typer.Option(help="Rows of research.training.changed_sources, in addition to the rest.")
    ] = None,
    changed_pairs: Annotated[int, typer.Option(min=0, help="So many of them in a step.")] = 8,
    start: Annotated[Path | None, typer.Option(help="A verifier that training goes on from, not the backbone.")] = None,
    teacher: Annotated[
        Path | None,
        typer.Option(
            help="A verifier over a larger backbone, whose verdicts are learnt as well; that of --start keeps its "
            "own on hits."
        ),
    ] = None,
    teacher_backbone: Annotated[str, typer.Option(help="The backbone of the teacher: a folder or a package.")] = "",
    lines: Annotated[int, typer.Option(min=1, help="So many contrast lines in a step.")] = 5,
    hits: Annotated[int, typer.Option(min=0, help="So many hits of searches in a step, which the teacher judges.")] = 0,
    labelled: Annotated[int, typer.Option(min=0, help="So many phrases in a step, with their labelled hits.")] = 0,
    turned: Annotated[
        int, typer.Option(min=0, help="So many contrast lines in a step, of which a text is the phrase of the others.")
    ] = 0,
    graded: Annotated[int, typer.Option(min=0, help="So many pairs of STS-B in a step, put into order by grade.")] = 0,
    sentences: Annotated[
        int, typer.Option(min=0, help="So many real sentences of each source are searched beside the written lines.")
    ] = 0,
    frozen_layers: Annotated[int, typer.Option(min=0, help="How many of the lowest layers do not learn.")] = 2,
    steps: StepsOption = 2_600,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1.5e-4,
    average: Annotated[
        float, typer.Option(min=0, max=1, help="Save averaged weights, of which this share is kept in a step.")
    ] = 0.0,
    seed: SeedOption = 1,
    save_every: SaveEveryOption = 200,
    backbone: BackboneOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train the second look, which says whether a text says a phrase. Repeating the command resumes."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from research.training.contrast_marks import contrast_marks
    from research.training.loop import Schedule
    from research.training.mined_hits import mined_hits
    from research.training.verifier import VerifierConfig
    from research.training.verifier import train_verifier as recipe

    settings = settings_with(backbone=backbone, device=device)
    config = VerifierConfig(
        out=folder,
        checkpoints=checkpoints,
        data=data,
        exclude=exclude,
        changed=changed,
        changed_pairs=changed_pairs,
        start=start,
        teacher=teacher,
        teacher_backbone=teacher_backbone or settings.backbone,
        lines=lines,
        hits=hits,
        labelled=labelled,
        turned=turned,
        graded=graded,
        backbone=settings.backbone,
        device=settings.device,
        seed=seed,
        frozen_layers=frozen_layers,
        save_every=save_every,
        schedule=Schedule(steps=steps, rate=rate, average=average),
    )
    marks = contrast_marks(settings, checkpoints / "marks.ndjson")
    mined = mined_hits(settings, checkpoints, data, sentences)
    report = run_recipe(lambda hooks: recipe(config, marks, mined, hooks), steps, save_every, config)
    print_report(report, steps, f"To use it: SPANSEEK_VERIFIER_WEIGHTS={folder}", as_json=as_json)
