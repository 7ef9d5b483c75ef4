"""The training loop: schedule, checkpoints that survive a kill, and a loss curve.

A batch is asked for by its step number and everything random is drawn from that number, so a run which goes on from
a checkpoint ends with the weights it would have had without the interruption.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
    """Length and rates of the training: linear warm-up, then a cosine down to zero.

    With an ``average``, what is saved are weights averaged over steps, of which so large a share is kept in each.
    """

    steps: int = 2_000
    rate: float = 1e-4
    warmup: float = 0.05
    decay: float = 0.01
    clip: float = 1.0
    average: float = 0.0

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
    which ``after_save`` is called with the number of steps made. If weights are averaged, it sees the average in the
    parameters, and so does who called ``fit``. ``faster`` says, of parameters whose names begin
    so, how many times the others' rate they learn with.
    """
    hooks = hooks or LoopHooks()
    folder = checkpoints.folder
    folder.mkdir(parents=True, exist_ok=True)
    optimizer = AdamW(_groups(parameters, faster or {}), lr=schedule.rate, weight_decay=schedule.decay)
    average = _Average(parameters, schedule.average)
    made = _load_checkpoint(checkpoints, parameters, optimizer, average)
    curve.cut(folder, made)
    while made < schedule.steps:
        report = _make_step(parameters, optimizer, losses, schedule, made)
        curve.append_row(folder, made, report.losses, report.seconds)
        made += 1
        average.add(made)
        hooks.after_step(report)
        stopped = hooks.stop()
        if stopped or made % checkpoints.every == 0 or made == schedule.steps:
            _save_checkpoint(checkpoints, made, parameters, optimizer, average)
            curve.draw(folder)
            with average.in_place():
                checkpoints.after_save(made)
        if stopped:
            break
    average.put()
    return made


class _Average:
    """The average of the parameters over steps, if a share of it is kept.

    In early steps less of it is kept, so that it does not hold on to what training began with.
    """

    def __init__(self, parameters: Mapping[str, torch.nn.Parameter], kept: float) -> None:
        self._parameters, self._kept = parameters, kept
        self.tensors = {name: parameter.detach().clone() for name, parameter in parameters.items()} if kept else {}

    @torch.no_grad()
    def add(self, step: int) -> None:
        """Add the parameters as they are after a step, counted from 1."""
        share = 1 - min(self._kept, step / (step + 9))
        for name, tensor in self.tensors.items():
            tensor.lerp_(self._parameters[name], share)

    @contextmanager
    @torch.no_grad()
    def in_place(self) -> Iterator[None]:
        """The average in the place of the parameters."""
        learnt = {name: self._parameters[name].clone() for name in self.tensors}
        self.put()
        try:
            yield
        finally:
            for name, tensor in learnt.items():
                self._parameters[name].copy_(tensor)

    @torch.no_grad()
    def put(self) -> None:
        """Give the parameters the average, if there is one."""
        for name, tensor in self.tensors.items():
            self._parameters[name].copy_(tensor)


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
    checkpoints: Checkpoints,
    step: int,
    parameters: Mapping[str, torch.nn.Parameter],
    optimizer: AdamW,
    average: _Average,
) -> None:
    """One file, put in place by a rename: parameters, Adam's two moments, the average, the steps made, and the run."""
    tensors = {f"parameter/{name}": parameter.detach() for name, parameter in parameters.items()}
    tensors |= {f"average/{name}": tensor for name, tensor in average.tensors.items()}
    for name, parameter in parameters.items():
        # What no loss has reached has no moments yet.
        for kind, moment in optimizer.state.get(parameter, {}).items():
            tensors[f"{kind}/{name}"] = moment
    facts = {"step": json.dumps(step), "run": json.dumps(checkpoints.run, sort_keys=True)}
    partial = checkpoints.folder / "checkpoint.partial"
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial, facts)
    partial.replace(checkpoints.folder / CHECKPOINT)


def _load_checkpoint(
    checkpoints: Checkpoints, parameters: Mapping[str, torch.nn.Parameter], optimizer: AdamW, average: _Average
) -> int:
    """Put the checkpoint's parameters, moments and average in place; returns the steps made (0 without one)."""
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
        for name, tensor in average.tensors.items():
            tensor.copy_(tensors.get(f"average/{name}", tensors[f"parameter/{name}"]))
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
    # As JSON, to which a list and a tuple are the same. Older runs did not say that they had no average.
    expected = json.loads(json.dumps(checkpoints.run))
    schedule = run.get("schedule")
    run = {**run, "schedule": {"average": 0.0, **schedule}} if isinstance(schedule, dict) else run
    differing = sorted(name for name in run.keys() | expected.keys() if run.get(name) != expected.get(name))
    if differing:
        raise InvalidInput(
            f"The checkpoint in {checkpoints.folder} belongs to a run that differs in: {', '.join(differing)}.",
            hint="Give the options it was made with, or another folder for checkpoints.",
            field="checkpoints",
        )
