"""The training loop: averaged weights, also of a run that was interrupted."""

from pathlib import Path

import pytest
import torch

from research.training.loop import Checkpoints, LoopHooks, Schedule, fit

SCHEDULE = Schedule(steps=30, rate=0.1, average=0.8)


def _run(folder: Path, stop_at: int = 0) -> tuple[list[float], list[float]]:
    """What a parameter was after every step, and what it was whenever it was saved."""
    parameter = torch.nn.Parameter(torch.tensor(1.0))
    after: list[float] = []
    saved: list[float] = []
    checkpoints = Checkpoints(folder, 10, lambda step: saved.append(parameter.item()))
    hooks = LoopHooks(lambda report: after.append(parameter.item()), lambda: len(after) == stop_at)
    fit({"one": parameter}, lambda step: {"square": (parameter - step) ** 2}, SCHEDULE, checkpoints, hooks)
    assert parameter.item() == saved[-1] != after[-1]
    return after, saved


def test_what_is_saved_is_averaged_over_steps(tmp_path: Path) -> None:
    after, saved = _run(tmp_path)
    average, averages = 1.0, []
    for step, value in enumerate(after, 1):
        kept = min(SCHEDULE.average, step / (step + 9))
        average = kept * average + (1 - kept) * value
        averages.append(average)
    assert saved == pytest.approx(averages[9::10], abs=1e-5)


def test_an_interrupted_run_keeps_its_average(tmp_path: Path) -> None:
    _, whole = _run(tmp_path / "whole")
    _run(tmp_path / "parted", stop_at=14)
    _, parted = _run(tmp_path / "parted")
    assert parted == whole[1:]
