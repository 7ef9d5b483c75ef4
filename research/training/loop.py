"""The training loop: schedule, checkpoints that survive a kill, and a loss curve.

A batch is asked for by its step number and everything random is drawn from that number, so a run which goes on from
a checkpoint ends with the weights it would have had without the interruption.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import AdamW

from models.errors import InvalidInput
from models.types import JsonValue
from research.training import curve

CHECKPOINT = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")

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


@dataclass(frozen=True, slots=True)
class StepReport:
    """A step that has been made: how many there are with it, its losses by name, and the seconds it took."""

    step: int
    losses: Mapping[str, float]
    seconds: float


@dataclass(frozen=True, slots=True)
class LoopHooks:
    """Callbacks of a run: one after every step, and one that may stop it, with a checkpoint."""

    after_step: Callable[[StepReport], None] = lambda report: None
    stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The files of a run's checkpoint and loss curve, the interval between checkpoints, and a callback.

    ``run`` says what the run depends on; a checkpoint of a run that depends on something else is refused.
    """

    folder: Path
    every: int = 50
    after_save: Callable[[int], object] = lambda step: None
    run: Mapping[str, JsonValue] = field(default_factory=dict)


def fit(
    parameters: Mapping[str, torch.nn.Parameter],
    losses: Callable[[int], Losses],
    schedule: Schedule,
    checkpoints: Checkpoints,
    hooks: LoopHooks | None = None,
    faster: Mapping[str, float] | None = None,
) -> int:
    """Minimise the sum of ``losses(step)``, going on from the checkpoint if there is one; returns the steps made.

    Writes ``loss.csv`` (one row a step) and, every so many steps and at the end, a checkpoint and ``loss.png``, after
    which ``after_save`` is called with the number of steps made. ``faster`` says, of parameters whose names begin
    so, how many times the others' rate they learn with.
    """
    hooks = hooks or LoopHooks()
    folder = checkpoints.folder
    folder.mkdir(parents=True, exist_ok=True)
    optimizer = AdamW(_groups(parameters, faster or {}), lr=schedule.rate, weight_decay=schedule.decay)
    made = _load_checkpoint(checkpoints, parameters, optimizer)
    curve.cut(folder, made)
    while made < schedule.steps:
        report = _make_step(parameters, optimizer, losses, schedule, made)
        curve.append_row(folder, made, report.losses, report.seconds)
        made += 1
        hooks.after_step(report)
        stopped = hooks.stop()
        if stopped or made % checkpoints.every == 0 or made == schedule.steps:
            _save_checkpoint(checkpoints, made, parameters, optimizer)
            curve.draw(folder)
            checkpoints.after_save(made)
        if stopped:
            break
    return made


def _groups(parameters: Mapping[str, torch.nn.Parameter], faster: Mapping[str, float]) -> list[dict[str, Any]]:
    """Parameters by how fast they learn."""
    groups: dict[float, list[torch.nn.Parameter]] = {}
    for name, parameter in parameters.items():
        times = next((times for begin, times in faster.items() if name.startswith(begin)), 1.0)
        groups.setdefault(times, []).append(parameter)
    return [{"params": members, "faster": times} for times, members in groups.items()]


def _make_step(
    parameters: Mapping[str, torch.nn.Parameter],
    optimizer: AdamW,
    losses: Callable[[int], Losses],
    schedule: Schedule,
    step: int,
) -> StepReport:
    started = time.perf_counter()
    for group in optimizer.param_groups:
        group["lr"] = schedule.rate * schedule.factor(step) * group["faster"]
    optimizer.zero_grad(set_to_none=True)
    parts = losses(step)
    total = torch.stack(list(parts.values())).sum()
    total.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(parameters.values(), schedule.clip)
    optimizer.step()
    figures = {name: part.item() for name, part in parts.items()}
    return StepReport(step + 1, figures, time.perf_counter() - started)


def _save_checkpoint(
    checkpoints: Checkpoints, step: int, parameters: Mapping[str, torch.nn.Parameter], optimizer: AdamW
) -> None:
    """One file, put in place by a rename: parameters, Adam's two moments, the number of steps made, and the run."""
    tensors = {f"parameter/{name}": parameter.detach() for name, parameter in parameters.items()}
    for name, parameter in parameters.items():
        # What no loss has reached has no moments yet.
        for kind, moment in optimizer.state.get(parameter, {}).items():
            tensors[f"{kind}/{name}"] = moment
    facts = {"step": json.dumps(step), "run": json.dumps(checkpoints.run, sort_keys=True)}
    partial = checkpoints.folder / "checkpoint.partial"
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial, facts)
    partial.replace(checkpoints.folder / CHECKPOINT)


def _load_checkpoint(checkpoints: Checkpoints, parameters: Mapping[str, torch.nn.Parameter], optimizer: AdamW) -> int:
    """Put the checkpoint's parameters and moments in place; returns the number of steps made (0 without one)."""
    path = checkpoints.folder / CHECKPOINT
    step, run = _facts_of(path)
    if not step:
        return 0
    _check_same_run(checkpoints, run)
    tensors = load_file(path)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[f"parameter/{name}"])
            moments = {kind: tensors[f"{kind}/{name}"] for kind in _MOMENTS if f"{kind}/{name}" in tensors}
            if moments:
                optimizer.state[parameter] = {
                    kind: moment.to(parameter.device if kind != "step" else "cpu") for kind, moment in moments.items()
                }
    return step


def _facts_of(path: Path) -> tuple[int, Mapping[str, JsonValue] | None]:
    """The number of steps of a checkpoint, and the facts that its run depends on, if stored."""
    if not path.is_file():
        return 0, None
    with safe_open(path, "pt") as file:
        facts = file.metadata()
    return json.loads(facts["step"]), json.loads(facts.get("run", "null"))


def _check_same_run(checkpoints: Checkpoints, run: Mapping[str, JsonValue] | None) -> None:
    """Refuse to go on from the checkpoint of another run. Older checkpoints do not say what they depend on."""
    if run is None:
        return
    # As JSON, to which a list and a tuple are the same.
    expected = json.loads(json.dumps(checkpoints.run))
    differing = sorted(name for name in run.keys() | expected.keys() if run.get(name) != expected.get(name))
    if differing:
        raise InvalidInput(
            f"The checkpoint in {checkpoints.folder} belongs to a run that differs in: {', '.join(differing)}.",
            hint="Give the options it was made with, or another folder for checkpoints.",
            field="checkpoints",
        )
