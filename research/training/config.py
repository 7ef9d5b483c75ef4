"""Everything a run of the SLICE recipe depends on, but the texts themselves."""

from dataclasses import dataclass, field
from pathlib import Path

from models.packages import DEFAULT
from models.types import SpanBounds
from research.training.data import Shape
from research.training.loop import Schedule
from research.training.losses import DistillationWeights


@dataclass(frozen=True, slots=True)
class Weights:
    """What the losses count beside the distillation, which counts 1."""

    graded: float = 1.0
    isolated: float = 0.3
    paper: float = 0.05
    borders: float = 5.0
    twins: float = 0.0
    narrow: float = 0.5
    triplets: float = 1.0


@dataclass(frozen=True, slots=True)
class SliceConfig:
    """A run: what it reads (a folder of known sets, or a user's own files, or both), where it writes, how it learns."""

    out: Path
    checkpoints: Path
    data: Path | None = None
    exclude: Path | None = None
    texts: Path | None = None
    pairs: Path | None = None
    triplets: Path | None = None
    triplets_per_step: int = 16
    backbone: str = DEFAULT
    start: Path | None = None
    teacher: Path | None = None
    frozen_layers: int = 0
    device: str = "auto"
    seed: int = 13
    spans: int = 5
    save_every: int = 50
    shape: Shape = field(default_factory=Shape)
    schedule: Schedule = field(default_factory=Schedule)
    distillation: DistillationWeights = field(default_factory=DistillationWeights)
    weights: Weights = field(default_factory=Weights)
    bounds: SpanBounds = field(default_factory=SpanBounds)
