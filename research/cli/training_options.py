"""Options shared by the training commands."""

from pathlib import Path
from typing import Annotated

import typer

OutOption = Annotated[Path, typer.Option("--out", help="Folder for the weights.")]
RowsOption = Annotated[Path, typer.Option("--out", help="NDJSON file to write.")]
CheckpointsOption = Annotated[Path, typer.Option(help="Folder for checkpoint and loss curve.")]
FolderOption = Annotated[Path, typer.Option("--data", help="Folder of the known sets.")]
DataOption = Annotated[Path | None, typer.Option(help="Folder of the known sets.")]
ExcludeOption = Annotated[
    Path | None, typer.Option(help="STS-B-Context file; no pair or triplet with one of its sentences is trained on.")
]
StepsOption = Annotated[int, typer.Option(min=1, help="Steps to make.")]
SeedOption = Annotated[int, typer.Option(help="Decides all that is drawn.")]
WeightOption = Annotated[list[str] | None, typer.Option(help="What a loss counts, NAME=NUMBER; repeat for several.")]
DrawOption = Annotated[list[str] | None, typer.Option(help="What a step draws, NAME=NUMBER; repeat for several.")]
SaveEveryOption = Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")]
BackboneOption = Annotated[str | None, typer.Option(help="Backbone to begin with.")]
DeviceOption = Annotated[str | None, typer.Option(help="auto, cpu or cuda.")]
