"""Everything a run of the nugget language model depends on, but the texts themselves."""

from dataclasses import dataclass, field
from pathlib import Path

from research.nugget_lm.histories import Kind
from research.nugget_lm.nugget_lm import LmShape
from research.training.loop import Schedule


@dataclass(frozen=True, slots=True)
class NuggetLmConfig:
    """A run: what stands for a segment, where it writes, how it learns.

    ``kinds`` say whether nuggets stand for a segment, at ``ratios`` that take turns, or a mean. Several kinds take
    turns too, each on the same segments, so that one decoder learns to read both. ``selector`` says who chose, if not
    the nugget weights' own. ``cache`` holds the vectors of segments, which do not change; runs may share it.
    ``segments`` is about how many are read of the texts, of each at most the first ``of_text``. A step predicts
    ``predicted`` of them, with a history drawn anew, and says ``encoded`` of them again from their own vectors
    (auto-encoding, with which the paper's models begin); of the latter every fourth is shown one vector alone, so that
    eq. 9 asks nothing that was never learnt.
    """

    out: Path
    checkpoints: Path
    cache: Path
    kinds: tuple[Kind, ...] = ("nuggets",)
    ratios: tuple[float, ...] = (0.1,)
    selector: str | None = None
    segments: int = 6_000
    of_text: int = 16
    predicted: int = 16
    encoded: int = 8
    seed: int = 13
    save_every: int = 50
    shape: LmShape = field(default_factory=LmShape)
    schedule: Schedule = field(default_factory=lambda: Schedule(steps=1_000, rate=1e-3))
