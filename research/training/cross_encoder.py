"""A cross-encoder: reads both texts of a pair in one forward pass and predicts their similarity.

Attention between the two texts makes it more accurate than an encoder of single texts, but each pair needs its own
forward pass, so it cannot search. It pseudo-labels pairs that encoders learn from. Thakur et al. (2021), "Augmented
SBERT".

    spanseek train cross-encoder --data FOLDER --out FOLDER --checkpoints FOLDER
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32, Shaped
from torch import Tensor
from torch.nn import functional

from models.artifacts import Artifact, load_artifact, save_artifact
from models.backbones.packages import DEFAULT
from models.backbones.torch_network import Backbone, load_backbone
from models.encoders.slice import put_in_place
from models.errors import BackboneMismatch
from models.types import JsonValue
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, fit
from research.training.own_texts import digests, read_graded_pair_file
from research.training.slice import layers, trainable
from research.training.sources import GradedPair, read_excluded, read_graded_pairs, without

RECIPE = "cross-encoder.v1"
_RECIPES = (RECIPE, "judge.v1")  # the second was written by version 0.1
_HEAD = "head."
_FASTER = {_HEAD: 10.0}  # the head is initialized with zeros, the layers are pretrained
_ALIKE_IN_LENGTH = 16  # a batch is drawn from this many times its size of pairs of similar length
_AT_ONCE = 64

Windows = tuple[Int32[np.ndarray, " _tokens"], Int32[np.ndarray, " _others"]]


@dataclass(frozen=True, slots=True)
class CrossEncoderConfig:
    """A run: its training pairs, where it writes, how it learns. ``pairs`` is a file of further graded pairs."""

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


class CrossEncoder(torch.nn.Module):
    """A backbone over pairs, and a linear layer over the vectors of the first token and the mean of all tokens."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.dropout = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(2 * backbone.dim, 1, device=backbone.device)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)

    def windows(self, pairs: Sequence[tuple[str, str]]) -> list[Windows]:
        """Token ids of both texts of every pair, each truncated to half a window."""
        room = (self.backbone.window - 1) // 2
        sides = [self.backbone.tokenize(side) for side in zip(*pairs, strict=True)]
        return [(one.ids[:room], other.ids[:room]) for one, other in zip(*sides, strict=True)]

    def forward(self, pairs: Sequence[Windows]) -> Float[Tensor, " pairs"]:
        """Similarity logits."""
        device = self.backbone.device
        ids, mask, kinds = pad_pairs(self.backbone, pairs)
        of_kinds = {} if kinds is None else {"token_type_ids": kinds.to(device)}
        with self.backbone.precision():
            output = self.backbone.model(input_ids=ids.to(device), attention_mask=mask.to(device), **of_kinds)
        states = output.last_hidden_state.float()
        real = mask.to(states.device)[..., None]
        mean = (states * real).sum(dim=1) / real.sum(dim=1)
        return self.head(self.dropout(torch.cat([states[:, 0], mean], dim=-1))).squeeze(-1)

    @torch.inference_mode()
    def scores(self, pairs: Sequence[tuple[str, str]]) -> Float32[np.ndarray, " pairs"]:
        """Similarities from 0 to 1, averaged over both orders of each pair."""
        windows = self.windows(pairs)
        scores = np.zeros(len(windows), np.float32)
        by_length = _by_length(windows)
        for begin in range(0, len(windows), _AT_ONCE):
            numbers = by_length[begin : begin + _AT_ONCE]
            batch = [windows[number] for number in numbers]
            both = self(batch).sigmoid() + self([pair[::-1] for pair in batch]).sigmoid()
            scores[numbers] = both.cpu().numpy() / 2
        return scores


def pad_pairs(
    backbone: Backbone, pairs: Sequence[Windows]
) -> tuple[Int[Tensor, "pairs padded"], Bool[Tensor, "pairs padded"], Int[Tensor, "pairs padded"] | None]:
    """One batch of pairs of windows, each pair in one row with a special token between them.

    The third result holds the token types, which tell the windows of a pair apart, if the network takes them.
    """
    prefix, suffix = backbone.tokenizer.prefix, backbone.tokenizer.suffix
    ids, mask = backbone.pad([np.concatenate([window, suffix, other]) for window, other in pairs])
    if getattr(backbone.model.config, "type_vocab_size", 0) < 2:
        return ids, mask, None
    begins = torch.tensor([len(prefix) + len(window) + len(suffix) for window, _ in pairs])
    of_other = (torch.arange(ids.shape[1]) >= begins[:, None]) & mask
    return ids, mask, of_other.long()


def load_cross_encoder(folder: Path, backbone: str, device: str) -> CrossEncoder:
    """Load a trained cross-encoder. Raises ``BackboneMismatch`` for other weights."""
    artifact = load_artifact(folder)
    if artifact.config.get("recipe") not in _RECIPES:
        raise BackboneMismatch(
            f"The weights in {folder} are not those of a cross-encoder.",
            hint="Name the folder that spanseek train cross-encoder wrote.",
        )
    encoder = CrossEncoder(load_backbone(backbone, device=device))
    put_in_place(encoder.backbone, replace(artifact, arrays=_of_backbone(artifact)))
    of_head = {name.removeprefix(_HEAD): t for name, t in artifact.tensors.items() if name.startswith(_HEAD)}
    encoder.head.load_state_dict(of_head)
    return encoder.eval()


def _of_backbone(artifact: Artifact) -> dict[str, Shaped[np.ndarray, "..."]]:
    return {name: array for name, array in artifact.arrays.items() if not name.startswith(_HEAD)}


def train_cross_encoder(config: CrossEncoderConfig, hooks: LoopHooks | None = None) -> Artifact:
    """Train, and save the cross-encoder (fp16) in ``config.out``; resumes from a checkpoint if there is one."""
    excluded = read_excluded(config.exclude)
    own = without(read_graded_pair_file(config.pairs), excluded) if config.pairs else []
    return _train(config, [*read_graded_pairs(config.data, excluded), *own], hooks)


def _train(config: CrossEncoderConfig, pairs: Sequence[GradedPair], hooks: LoopHooks | None) -> Artifact:
    backbone = load_backbone(config.backbone, device=config.device)
    encoder = CrossEncoder(backbone)
    backbone.model.train()
    head = {_HEAD + name: parameter for name, parameter in encoder.head.named_parameters()}
    windows = encoder.windows([(pair.query, pair.paraphrase) for pair in pairs])
    by_length = _by_length(windows)

    def losses(step: int) -> Losses:
        # Seeds the dropout by the step, so that a resumed run draws the same masks.
        torch.manual_seed(config.seed * 2**20 + step)
        rng = random.Random(f"{config.seed}/{step}")  # noqa: S311  sampling, not secrets
        chosen = _of_like_length(by_length, config.of_a_step, rng)
        batch = [windows[number][:: rng.choice((1, -1))] for number in chosen]
        gold = torch.tensor([pairs[number].score for number in chosen], device=backbone.device)
        return {"cross_entropy": functional.binary_cross_entropy_with_logits(encoder(batch), gold)}

    def save(step: int) -> Artifact:
        tensors = {name: p.detach().to("cpu", torch.float16) for name, p in (layers(backbone) | head).items()}
        return save_artifact(config.out, tensors, _facts(config, backbone, len(pairs), step))

    run = _facts(config, backbone, len(pairs), 0) | {"schedule": asdict(replace(config.schedule, steps=0))}
    run |= {"contents": digests({"exclude": config.exclude, "pairs": config.pairs})}
    checkpoints = Checkpoints(config.checkpoints, config.save_every, save, run)
    return save(fit(trainable(backbone) | head, losses, config.schedule, checkpoints, hooks, _FASTER))


def _by_length(windows: Sequence[Windows]) -> list[int]:
    return sorted(range(len(windows)), key=lambda number: sum(map(len, windows[number])))


def _of_like_length(by_length: Sequence[int], count: int, rng: random.Random) -> list[int]:
    """Draw ``count`` pairs of similar length, so that little of the batch is padding."""
    among = min(len(by_length), count * _ALIKE_IN_LENGTH)
    begin = rng.randint(0, len(by_length) - among)
    return rng.sample(by_length[begin : begin + among], min(count, among))


def _facts(config: CrossEncoderConfig, backbone: Backbone, pairs: int, step: int) -> dict[str, JsonValue]:
    """Provenance stored in config.json: backbone, data and settings."""
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
