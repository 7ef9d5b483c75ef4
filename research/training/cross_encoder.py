"""The judge: a network that reads both texts of a pair at once, and says how alike they are.

It sees what every word meets in the other text, which no encoder of single texts can, but has to read every pair anew:
it cannot search. So it grades pairs for encoders to learn from. Thakur et al. (2021), "Augmented SBERT".

    spanseek train judge --data FOLDER --out FOLDER --checkpoints FOLDER
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32, Int32, Shaped
from torch import Tensor
from torch.nn import functional

from models.artifacts import Artifact, load_artifact, save_artifact
from models.backbones import Backbone, load_backbone
from models.encoders.slice import put_in_place
from models.errors import BackboneMismatch
from models.packages import DEFAULT
from models.types import JsonValue
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, fit
from research.training.own_texts import contents, read_own_pairs
from research.training.slice import layers, trainable
from research.training.sources import GradedPair, read_excluded, read_graded_pairs, without

RECIPE = "judge.v1"
_HEAD = "head."
_FASTER = {_HEAD: 10.0}  # the head begins with nothing, the layers do not
_ALIKE_IN_LENGTH = 16  # a batch is drawn among so many times its size of pairs that are about as long
_AT_ONCE = 64

Windows = tuple[Int32[np.ndarray, " _tokens"], Int32[np.ndarray, " _others"]]


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """A run: the pairs that people graded, where it writes, how it learns. ``pairs`` are one's own, beside these."""

    out: Path
    checkpoints: Path
    data: Path
    exclude: Path | None = None
    pairs: Path | None = None
    backbone: str = DEFAULT
    device: str = "auto"
    seed: int = 13
    of_a_step: int = 32
    save_every: int = 50
    schedule: Schedule = field(default_factory=lambda: Schedule(steps=640, rate=1e-4))


class Judge(torch.nn.Module):
    """A backbone that reads pairs, and one linear layer over its first token and the mean of all."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.dropout = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(2 * backbone.dim, 1, device=backbone.device)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)

    def windows(self, pairs: Sequence[tuple[str, str]]) -> list[Windows]:
        """Both texts of every pair as tokens; of texts longer than half a window, what that holds."""
        room = (self.backbone.window - 1) // 2
        sides = [self.backbone.tokenize(side) for side in zip(*pairs, strict=True)]
        return [(one.ids[:room], other.ids[:room]) for one, other in zip(*sides, strict=True)]

    def forward(self, pairs: Sequence[Windows]) -> Float[Tensor, " pairs"]:
        """How alike the texts are, before a sigmoid."""
        ids, mask, kinds = self.backbone.pad_pairs(pairs)
        states = self.backbone.hidden(ids, mask, kinds).float()
        real = mask.to(states.device)[..., None]
        mean = (states * real).sum(dim=1) / real.sum(dim=1)
        return self.head(self.dropout(torch.cat([states[:, 0], mean], dim=-1))).squeeze(-1)

    @torch.inference_mode()
    def grades(self, pairs: Sequence[tuple[str, str]]) -> Float32[np.ndarray, " pairs"]:
        """Grades from 0 to 1, the mean of both orders of each pair."""
        windows = self.windows(pairs)
        found = np.zeros(len(windows), np.float32)
        by_length = _by_length(windows)
        for begin in range(0, len(windows), _AT_ONCE):
            numbers = by_length[begin : begin + _AT_ONCE]
            read = [windows[number] for number in numbers]
            both = self(read).sigmoid() + self([pair[::-1] for pair in read]).sigmoid()
            found[numbers] = both.cpu().numpy() / 2
        return found


def load_judge(folder: Path, backbone: str, device: str) -> Judge:
    """A trained judge. Raises ``BackboneMismatch`` for other weights."""
    artifact = load_artifact(folder)
    if artifact.config.get("recipe") != RECIPE:
        raise BackboneMismatch(
            f"The weights in {folder} are no judge's.", hint="Name the folder that spanseek train judge wrote."
        )
    judge = Judge(load_backbone(backbone, device=device))
    put_in_place(judge.backbone, replace(artifact, arrays=_of_backbone(artifact)))
    of_head = {name.removeprefix(_HEAD): t for name, t in artifact.tensors.items() if name.startswith(_HEAD)}
    judge.head.load_state_dict(of_head)
    return judge.eval()


def _of_backbone(artifact: Artifact) -> dict[str, Shaped[np.ndarray, "..."]]:
    return {name: array for name, array in artifact.arrays.items() if not name.startswith(_HEAD)}


def train_judge(config: JudgeConfig, hooks: LoopHooks | None = None) -> Artifact:
    """Train, and save the judge (fp16) in ``config.out``; goes on from a checkpoint if there is one."""
    excluded = read_excluded(config.exclude)
    own = without(read_own_pairs(config.pairs), excluded) if config.pairs else []
    return _train(config, [*read_graded_pairs(config.data, excluded), *own], hooks)


def _train(config: JudgeConfig, pairs: Sequence[GradedPair], hooks: LoopHooks | None) -> Artifact:
    backbone = load_backbone(config.backbone, device=config.device)
    judge = Judge(backbone)
    backbone.model.train()
    head = {_HEAD + name: parameter for name, parameter in judge.head.named_parameters()}
    windows = judge.windows([(pair.query, pair.paraphrase) for pair in pairs])
    by_length = _by_length(windows)

    def losses(step: int) -> Losses:
        # Of the dropout: a run that goes on drops what it would have dropped.
        torch.manual_seed(config.seed * 2**20 + step)
        rng = random.Random(f"{config.seed}/{step}")  # noqa: S311  sampling, not secrets
        chosen = _of_like_length(by_length, config.of_a_step, rng)
        read = [windows[number][:: rng.choice((1, -1))] for number in chosen]
        gold = torch.tensor([pairs[number].score for number in chosen], device=backbone.device)
        return {"judge": functional.binary_cross_entropy_with_logits(judge(read), gold)}

    def save(step: int) -> Artifact:
        kept = {name: p.detach().to("cpu", torch.float16) for name, p in (layers(backbone) | head).items()}
        return save_artifact(config.out, kept, _facts(config, backbone, len(pairs), step))

    run = _facts(config, backbone, len(pairs), 0) | {"schedule": asdict(replace(config.schedule, steps=0))}
    run |= {"contents": contents({"exclude": config.exclude, "pairs": config.pairs})}
    checkpoints = Checkpoints(config.checkpoints, config.save_every, save, run)
    return save(fit(trainable(backbone) | head, losses, config.schedule, checkpoints, hooks, _FASTER))


def _by_length(windows: Sequence[Windows]) -> list[int]:
    return sorted(range(len(windows)), key=lambda number: sum(map(len, windows[number])))


def _of_like_length(by_length: Sequence[int], count: int, rng: random.Random) -> list[int]:
    """So many pairs that are about as long: padding costs as much as words."""
    among = min(len(by_length), count * _ALIKE_IN_LENGTH)
    begin = rng.randint(0, len(by_length) - among)
    return rng.sample(by_length[begin : begin + among], min(count, among))


def _facts(config: JudgeConfig, backbone: Backbone, pairs: int, step: int) -> dict[str, JsonValue]:
    """What a reader of the weights must know: on what they stand and how they were made."""
    facts: dict[str, JsonValue] = {
        "recipe": RECIPE,
        "backbone_sha256": backbone.weights_sha256,
        "seed": config.seed,
        "steps": step,
        "pairs": pairs,
        "of_a_step": config.of_a_step,
        "schedule": asdict(config.schedule),
        "data": {"stsb-train": "CC BY-SA 4.0"},
    }
    return facts | ({"own": config.pairs.name} if config.pairs else {})
