"""The training loop: schedule, checkpoints that survive a kill, and a loss curve.

A batch is asked for by its step number and everything random is drawn from that number, so a run which goes on from
a checkpoint ends with the weights it would have had without the interruption.
"""

import csv
import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import AdamW

logger = logging.getLogger(__name__)

Losses = Mapping[str, Float[Tensor, ""]]


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast to learn: linear warm-up, then a cosine down to zero."""

    steps: int = 2_000
    rate: float = 1e-4
    warmup: float = 0.05
    decay: float = 0.01
    clip: float = 1.0

    def factor(self, step: int) -> float:
        """The share of ``rate`` used in a step (counted from 0).

        >>> schedule = Schedule(steps=100, warmup=0.1)
        >>> schedule.factor(4), round(schedule.factor(10), 3), round(schedule.factor(55), 3)
        (0.5, 1.0, 0.5)
        """
        warm = max(1, round(self.steps * self.warmup))
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, self.steps - warm)))


def fit(
    parameters: Mapping[str, torch.nn.Parameter],
    losses: Callable[[int], Losses],
    schedule: Schedule,
    folder: Path,
    *,
    save_every: int = 100,
    after_save: Callable[[int], None] = lambda step: None,
) -> None:
    """Minimise the sum of ``losses(step)``; goes on from the checkpoint in ``folder`` if there is one.

    Writes ``loss.csv`` (one row a step) and, every ``save_every`` steps and at the end, a checkpoint, after which
    ``after_save`` is called with the number of steps made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    optimizer = AdamW(parameters.values(), lr=schedule.rate, weight_decay=schedule.decay)
    begin = _load_checkpoint(folder, parameters, optimizer)
    _cut_curve(folder / "loss.csv", begin)
    for step in range(begin, schedule.steps):
        started = time.perf_counter()
        optimizer.param_groups[0]["lr"] = schedule.rate * schedule.factor(step)
        optimizer.zero_grad(set_to_none=True)
        parts = losses(step)
        total = torch.stack(list(parts.values())).sum()
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters.values(), schedule.clip)
        optimizer.step()
        figures = {name: part.item() for name, part in parts.items()}
        _append_curve(folder / "loss.csv", step, figures, time.perf_counter() - started)
        if (step + 1) % save_every == 0 or step + 1 == schedule.steps:
            _save_checkpoint(folder, step + 1, parameters, optimizer)
            logger.info("step %d: %s", step + 1, " ".join(f"{name}={value:.4f}" for name, value in figures.items()))
            after_save(step + 1)


def _save_checkpoint(folder: Path, step: int, parameters: Mapping[str, torch.nn.Parameter], optimizer: AdamW) -> None:
    """One file, put in place by a rename: parameters, Adam's two moments, and the number of steps made."""
    tensors = {f"parameter/{name}": parameter.detach() for name, parameter in parameters.items()}
    for name, parameter in parameters.items():
        for kind in ("exp_avg", "exp_avg_sq", "step"):
            tensors[f"{kind}/{name}"] = optimizer.state[parameter][kind]
    partial = folder / "checkpoint.partial"
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial, {"step": json.dumps(step)})
    partial.replace(folder / "checkpoint.safetensors")


def _load_checkpoint(folder: Path, parameters: Mapping[str, torch.nn.Parameter], optimizer: AdamW) -> int:
    """Put the checkpoint's parameters and moments in place; returns the number of steps made (0 without one)."""
    path = folder / "checkpoint.safetensors"
    if not path.is_file():
        return 0
    tensors = load_file(path)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[f"parameter/{name}"])
            kinds = ("exp_avg", "exp_avg_sq", "step")
            optimizer.state[parameter] = {
                kind: tensors[f"{kind}/{name}"].to(parameter.device if kind != "step" else "cpu") for kind in kinds
            }
    step = int(next(iter(optimizer.state.values()))["step"].item())
    logger.info("going on after step %d", step)
    return step


def _cut_curve(path: Path, steps: int) -> None:
    """Drop the rows of steps that will be made again."""
    if path.is_file():
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[: steps + 1] if steps else ()), "utf-8")


def _append_curve(path: Path, step: int, figures: Mapping[str, float], seconds: float) -> None:
    fresh = not path.is_file() or not path.stat().st_size
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(["step", *figures, "seconds"])
        writer.writerow([step, *(f"{value:.6f}" for value in figures.values()), f"{seconds:.3f}"])
