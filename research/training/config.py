"""Everything a training run depends on, except the texts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from models.backbones.packages import DEFAULT
from models.encoders.nuggets.parts import LAYER, Gather
from models.errors import InvalidInput
from models.types import SpanBounds
from research.training.batches import Shape
from research.training.loop import Schedule
from research.training.losses import DistillationWeights
from research.training.nugget_data import NuggetShape


@dataclass(frozen=True, slots=True)
class Weights:
    """Losses' weights, relative to the distillation, whose weight is 1."""

    graded: float = 1.0
    isolated: float = 0.3
    paper: float = 0.05
    borders: float = 5.0
    twins: float = 0.0
    narrow: float = 0.5
    triplets: float = 1.0
    whole_triplets: float = 0.0
    retrieval: float = 0.0
    ranking: float = 0.0


@dataclass(frozen=True, slots=True)
class SliceConfig:
    """A run: what it reads (a folder of known sets, or a user's own files, or both), where it writes, how it learns.

    ``discount`` is that of the span score (:class:`models.ops.span_score.SpanScore`) by which spans are searched.
    """

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
    discount: float = 0.0
    save_every: int = 50
    shape: Shape = field(default_factory=Shape)
    schedule: Schedule = field(default_factory=Schedule)
    distillation: DistillationWeights = field(default_factory=DistillationWeights)
    weights: Weights = field(default_factory=Weights)
    bounds: SpanBounds = field(default_factory=SpanBounds)


# Whose upper layers a run begins with.
Upper: TypeAlias = Literal["slice", "backbone"]
UPPERS: tuple[Upper, ...] = ("slice", "backbone")


@dataclass(frozen=True, slots=True)
class NuggetWeights:
    """Losses' weights; a loss of weight 0 is not computed."""

    contrastive: float = 1.0
    segments: float = 1.0
    boundaries: float = 0.5
    auto_encoding: float = 0.1
    translation: float = 0.1


@dataclass(frozen=True, slots=True)
class NuggetConfig:
    """A run: what it reads (a folder of known sets, or aligned texts, or both), where it writes, how it learns.

    ``start`` is the folder of nugget weights to begin with, if not with the upper layers of SLICE, or with those
    that the backbone has untrained (``upper``); ``scorer`` that of weights of which the scorer alone is taken.
    ``gather`` says what a nugget is made of: its own token, or its segment. ``temperature`` is that of the
    contrast, ``delete`` the share of tokens left out before auto-encoding, ``decoded`` how many documents of a step
    are decoded, of at most ``target_tokens`` each. Nuggets lie at least ``spacing`` of their mean distance apart;
    ``noise`` is how far scores are scattered before the choice, so that other choices are tried as well.
    """

    out: Path
    checkpoints: Path
    data: Path | None = None
    exclude: Path | None = None
    pairs: Path | None = None
    weights_of_slice: Path | None = None
    start: Path | None = None
    scorer: Path | None = None
    upper: Upper = "slice"
    backbone: str = DEFAULT
    device: str = "auto"
    seed: int = 13
    layer: int = LAYER
    selector: str = "learned"
    spacing: float = 0.5
    feedback: bool = True
    gather: Gather = "segment"
    lowest_ratio: float = 0.05
    highest_ratio: float = 0.25
    temperature: float = 0.03
    noise: float = 0.3
    delete: float = 0.0
    decoded: int = 2
    target_tokens: int = 48
    decoder_layers: int = 2
    save_every: int = 50
    shape: NuggetShape = field(default_factory=NuggetShape)
    schedule: Schedule = field(default_factory=Schedule)
    weights: NuggetWeights = field(default_factory=NuggetWeights)


def upper_named(name: str) -> Upper:
    """Return the source of the upper layers, by name. Raises ``InvalidInput`` for any other.

    >>> upper_named("backbone")
    'backbone'
    """
    for upper in UPPERS:
        if upper == name:
            return upper
    raise InvalidInput(
        f"There are no upper layers of {name!r} to begin with.",
        hint=f"They are of: {', '.join(UPPERS)}.",
        field="upper",
    )
