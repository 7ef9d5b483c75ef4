"""What every ``spanseek train`` does around its recipe: progress, Ctrl-C, and a report of it."""

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from app.cli.console import err, out, print_json
from app.cli.progress import stop_on_interrupt

if TYPE_CHECKING:
    from models.artifacts import Artifact
    from research.training.loop import LoopHooks


class Folders(Protocol):
    """Where a run writes."""

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
    from research.cli.training_options import training_progress
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


def tell_of_run(report: Mapping[str, Any], steps: int, what_now: str, *, as_json: bool) -> None:
    """Print what :func:`run_recipe` found, and what to do with it; exit 130 where steps are missing."""
    made = report["steps"]
    if as_json:
        print_json(report)
    else:
        out.print(f"{made} steps made. {what_now}", soft_wrap=True, markup=False)
    if made < steps:
        err.print(f"Stopped after step {made}. Give the same command again to go on from here.")
        raise typer.Exit(130)
