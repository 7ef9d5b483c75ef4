"""Run a training recipe from the command line: progress, Ctrl-C, and the report."""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from app.cli.console import err, out, print_json
from app.cli.progress import stop_on_interrupt

if TYPE_CHECKING:
    from models.artifacts import Artifact
    from research.training.loop import LoopHooks, StepReport

_RECENT = 20  # steps over which the pace is averaged


class Folders(Protocol):
    """Folders that a run writes to."""

    @property
    def out(self) -> Path:
        """The folder of the weights."""

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoint and curve."""


def run_recipe(
    train: "Callable[[LoopHooks], Artifact]", steps: int, save_every: int, folders: Folders
) -> dict[str, Any]:
    """Train, with its progress on standard error; returns what ``--json`` prints."""
    from research.training import curve
    from research.training.loop import LoopHooks

    begun = time.perf_counter()
    with (
        stop_on_interrupt("Stopping: saving a checkpoint after this step. Press Ctrl-C again to drop it.") as stop,
        training_progress(steps, save_every, err) as show,
    ):
        artifact = train(LoopHooks(show, stop.is_set))
    return {
        "steps": artifact.config["steps"],
        "seconds": round(time.perf_counter() - begun, 1),
        "losses": {name: values[-1] for name, values in curve.read_losses(folders.checkpoints).items()},
        "weights_sha256": hashlib.sha256((folders.out / "weights.safetensors").read_bytes()).hexdigest(),
        "folder": str(folders.out),
    }


def print_report(report: Mapping[str, Any], steps: int, next_step: str, *, as_json: bool) -> None:
    """Print the report of :func:`run_recipe` and the next step; exit with 130 where the run was interrupted."""
    made = report["steps"]
    if as_json:
        print_json(report)
    else:
        out.print(f"{made} steps made. {next_step}", soft_wrap=True, markup=False)
    if made < steps:
        err.print(f"Stopped after step {made}. Repeat the command to resume from here.")
        raise typer.Exit(130)


@contextmanager
def training_progress(steps: int, every: int, console: Console) -> "Iterator[Callable[[StepReport], None]]":
    """Show step, loss, pace and time left: a bar on a terminal, elsewhere a line every ``every`` steps."""
    pace = Pace()
    bar = Progress(BarColumn(), TextColumn("{task.description}"), console=console, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("reading", total=steps)

        def show(report: "StepReport") -> None:
            first = not pace.seconds
            if first and report.step > 1:
                console.print(f"Resuming after step {report.step - 1}.")
            pace.seconds.append(report.seconds)
            text = pace.describe(report, steps)
            bar.update(task, completed=report.step, description=text)
            if not console.is_terminal and (first or report.step % every == 0 or report.step == steps):
                console.print(text, soft_wrap=True)

        yield show


class Pace:
    """The duration of recent steps."""

    def __init__(self) -> None:
        self.seconds: deque[float] = deque(maxlen=_RECENT)

    def describe(self, report: "StepReport", steps: int) -> str:
        """A report as one line of text.

        >>> from research.training.loop import StepReport
        >>> pace = Pace()
        >>> pace.seconds.append(2.0)
        >>> pace.describe(StepReport(40, {"graded": 0.25, "paper": 0.5}, 2.0), 100)
        'step 40/100  loss 0.7500  2.00 s/step  0:02:00 left'
        """
        mean = sum(self.seconds) / len(self.seconds)
        left = timedelta(seconds=round(mean * (steps - report.step)))
        loss = sum(report.losses.values())
        return f"step {report.step}/{steps}  loss {loss:.4f}  {mean:.2f} s/step  {left} left"
