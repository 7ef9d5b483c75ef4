"""``spanseek train whitening``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from app.cli.console import JsonOption, err, out, print_json, settings_with
from research.cli.training_options import BackboneOption, DataOption, DeviceOption, ExcludeOption, OutOption, SeedOption


def train_whitening(
    folder: OutOption,
    texts: Annotated[
        Path | None, typer.Option(help="Your own texts: NDJSON or plain text, also .gz, or a folder of them.")
    ] = None,
    data: DataOption = None,
    exclude: ExcludeOption = None,
    nuggets: Annotated[Path | None, typer.Option(help="Nugget weights to begin with, else those in use.")] = None,
    documents: Annotated[int, typer.Option(min=1, help="Texts to fit to, of your own and of the known sets.")] = 3_000,
    exponent: Annotated[
        float, typer.Option(min=0, max=2, help="How evenly nuggets extend in all directions; 0: as they did.")
    ] = 1.0,
    floor: Annotated[
        float, typer.Option(min=1e-6, help="Share of the mean variance that is added in every direction.")
    ] = 0.01,
    seed: SeedOption = 13,
    backbone: BackboneOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit the projection of trained nuggets to texts, your own above all. It takes minutes, and no labels."""
    # Imported here, because torch takes seconds that other commands should not wait for.
    from models.artifacts import SHIPPED, load_artifact
    from models.backbones.torch_network import load_backbone
    from models.encoders.nuggets.slice import SliceNuggetEncoder
    from models.encoders.slice import SliceEncoder
    from models.ops.whitening import Whitening
    from research.training.nugget_whitening import WhiteningTexts, whiten

    settings = settings_with(backbone=backbone, device=device)
    made = load_artifact(nuggets or settings.nugget_weights or SHIPPED / "nugget")
    base = SliceEncoder(
        load_backbone(settings.backbone, device=settings.device),
        load_artifact(settings.weights or SHIPPED / "slice"),
    )
    loaded = SliceNuggetEncoder(base, made)
    with Progress(console=err, disable=not err.is_terminal) as progress:
        task = progress.add_task("read", total=None)
        artifact = whiten(
            loaded,
            made,
            WhiteningTexts(data, exclude, texts, documents, seed),
            Whitening(exponent, floor),
            folder,
            lambda done, of: progress.update(task, completed=done, total=of),
        )
    if as_json:
        print_json({"folder": str(folder), "sha256": artifact.sha256})
    else:
        out.print(f"To use the weights, set SPANSEEK_NUGGET_WEIGHTS={folder}", soft_wrap=True, markup=False)
