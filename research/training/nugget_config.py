"""Everything a run of the nugget recipe depends on, but the texts themselves."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from models.encoders.nugget_parts import LAYER, Gather
from models.errors import InvalidInput
from models.packages import DEFAULT
from research.training.loop import Schedule
from research.training.nugget_data import NuggetShape

# Whose upper layers a run begins with.
Upper: TypeAlias = Literal["slice", "backbone"]
UPPERS: tuple[Upper, ...] = ("slice", "backbone")


@dataclass(frozen=True, slots=True)
class NuggetWeights:
    """What the losses count; one that counts nothing is not computed."""

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
    """Whose upper layers, by name. Raises ``InvalidInput`` for any other.

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
