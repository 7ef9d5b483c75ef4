"""Options that every recipe's command has."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

if TYPE_CHECKING:
    from research.training.loop import StepReport

_RECENT = 20


@contextmanager
def training_progress(steps: int, every: int, console: Console) -> Iterator[Callable[["StepReport"], None]]:
    """Show step, loss, seconds a step and the time left; where no bar can be drawn, a line every so many steps."""
    pace = Pace()
    bar = Progress(BarColumn(), TextColumn("{task.description}"), console=console, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("reading", total=steps)

        def show(report: "StepReport") -> None:
            first = not pace.seconds
            if first and report.step > 1:
                console.print(f"Going on after step {report.step - 1}.")
            pace.seconds.append(report.seconds)
            said = pace.describe(report, steps)
            bar.update(task, completed=report.step, description=said)
            if not console.is_terminal and (first or report.step % every == 0 or report.step == steps):
                console.print(said, soft_wrap=True)

        yield show


class Pace:
    """The seconds that recent steps took."""

    def __init__(self) -> None:
        self.seconds: deque[float] = deque(maxlen=_RECENT)

    def describe(self, report: "StepReport", steps: int) -> str:
        """A report in words.

        >>> pace = Pace()
        >>> pace.seconds.append(2.0)
        >>> pace.describe(StepReport(40, {"graded": 0.25, "paper": 0.5}, 2.0), 100)
        'step 40/100  loss 0.7500  2.00 s/step  0:02:00 left'
        """
        mean = sum(self.seconds) / len(self.seconds)
        left = timedelta(seconds=round(mean * (steps - report.step)))
        loss = sum(report.losses.values())
        return f"step {report.step}/{steps}  loss {loss:.4f}  {mean:.2f} s/step  {left} left"


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
