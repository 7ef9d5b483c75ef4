"""Training of restorable embeddings: the words of a text, each from those before it and the text's vectors (eq. 6)."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.artifacts import Artifact, save_artifact
from models.backbones.devices import has_native_bf16
from models.encoders.restorable.reading import Reader, group, pad
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import BEGIN, Ids, Vocabulary
from models.errors import InvalidInput
from models.types import JsonValue
from research.restorable.network import VariantNetwork
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, fit
from research.training.restorable_start import Start


@dataclass(frozen=True, slots=True)
class RestorableConfig:
    """A run: where it writes, what it learns, and how.

    A step reads ``slices`` batches of texts of one length each, of ``tokens`` tokens in all. ``anchor`` is the weight
    of the loss that keeps the beginning of a vector near the mean of the frozen backbone's states.
    """

    out: Path
    checkpoints: Path
    seed: int = 13
    tokens: int = 2048
    slices: int = 4
    save_every: int = 100
    shape: RestorableShape = field(default_factory=RestorableShape)
    schedule: Schedule = field(default_factory=lambda: Schedule(rate=1.5e-3))
    encoder: str = "untrained"
    sources: str = ""
    anchor: float = 0.0

    def facts(self, texts: int, step: int, encoder: str, backbone: str) -> dict[str, JsonValue]:
        """Facts that a reader of the weights must know."""
        return {
            "recipe": "restorable.v1",
            **({"begins": True} if self.shape.begins else {}),
            **({"anchor": self.anchor} if self.anchor else {}),
            "seed": self.seed,
            "tokens": self.tokens,
            "slices": self.slices,
            "texts": texts,
            "sources": self.sources,
            "steps": step,
            "shape": asdict(self.shape),
            "schedule": asdict(self.schedule),
            "backbone": backbone,
            "encoder": {"name": self.encoder, "fingerprint": encoder},
        }


@dataclass(frozen=True, slots=True)
class Lesson:
    """A text as it is learnt from: the rows that the encoder reads, one for each vector, and its tokens."""

    rows: tuple[Ids, ...]
    ids: Ids


def read_lessons(texts: Sequence[str], vocabulary: Vocabulary, shape: RestorableShape, reader: Reader) -> list[Lesson]:
    """Texts that are short enough, by their lengths; texts of one length stand in the order given."""
    ids = vocabulary.ids(texts)
    kept = [number for number, row in enumerate(ids) if len(row) <= shape.longest]
    rows = reader([texts[number] for number in kept], [ids[number] for number in kept])
    lessons = [Lesson(tuple(of_text), ids[number]) for number, of_text in zip(kept, rows, strict=True)]
    return sorted(lessons, key=lambda lesson: len(lesson.ids))


def train_restorable(
    config: RestorableConfig,
    start: Start,
    texts: Sequence[str],
    hooks: LoopHooks | None = None,
    *,
    encoder: str = "",
) -> Artifact:
    """Train, and save weights and vocabulary with every checkpoint. Raises ``InvalidInput`` for no texts.

    ``encoder`` is the fingerprint of the encoder whose sentence vectors searches compare.
    """
    network, lessons = start.network, read_lessons(texts, start.vocabulary, config.shape, start.reader)
    if not lessons:
        raise InvalidInput("There are no texts to learn from.", hint="Check --data.", field="data")
    save = partial(_save, config, start, len(lessons), encoder)
    without_steps = replace(config, schedule=replace(config.schedule, steps=0))
    run = without_steps.facts(len(lessons), 0, encoder, start.backbone)
    checkpoints = Checkpoints(config.checkpoints, config.save_every, save, run)
    learned = {name: value for name, value in network.named_parameters() if value.requires_grad}
    made = fit(learned, partial(losses, config, network, lessons), config.schedule, checkpoints, hooks)
    return save(made)


def losses(config: RestorableConfig, network: VariantNetwork, lessons: Sequence[Lesson], step: int) -> Losses:
    """Eq. 6 of one step: the mean of minus the log probability of a token, in bfloat16 where it is native."""
    drawn = draw(lessons, config.tokens // config.slices, config.slices, config.seed, step)
    sums = [restoration_loss(network, batch) for batch in drawn]
    tokens = sum(len(lesson.ids) for batch in drawn for lesson in batch)
    found = {"restoration": torch.stack(sums).sum() / tokens}
    if not config.anchor:
        return found
    return found | {"anchor": config.anchor * torch.stack([anchor_loss(network, batch) for batch in drawn]).mean()}


def restoration_loss(network: VariantNetwork, batch: Sequence[Lesson]) -> Tensor:
    """The sum over the tokens of a batch of minus their log probabilities."""
    device = network.embed.weight.device
    with torch.autocast(device.type, torch.bfloat16, enabled=has_native_bf16(device)):
        rows = network.encode(*pad([row for lesson in batch for row in lesson.rows], device))
        vectors, real = group(rows, [len(lesson.rows) for lesson in batch])
        inputs, mask = pad([np.append(np.int32(BEGIN), lesson.ids[:-1]) for lesson in batch], device)
        targets, _ = pad([lesson.ids for lesson in batch], device)
        scores = network(inputs, vectors, real)
    return functional.cross_entropy(scores[mask].float(), targets[mask], reduction="sum")


def anchor_loss(network: VariantNetwork, batch: Sequence[Lesson]) -> Tensor:
    """1 less the mean cosine of the beginnings of vectors with the means of the backbone's states."""
    if network.backbone is None or network.shape.dim < network.shape.backbone_dim:
        raise InvalidInput(
            "An anchor needs a backbone, and vectors that are at least as long as its states.",
            hint="Train with --backbone frozen and a larger --dim.",
            field="anchor",
        )
    device = network.embed.weight.device
    ids, mask = pad([lesson.rows[0] for lesson in batch], device)
    with torch.autocast(device.type, torch.bfloat16, enabled=has_native_bf16(device)):
        states = network.backbone(input_ids=ids, attention_mask=mask).last_hidden_state
        vectors = network.encode_states(states, mask)
    means = (states.detach().float() * mask[..., None]).sum(dim=1)
    return 1 - functional.cosine_similarity(vectors[:, : means.shape[1]].float(), means, dim=-1).mean()


def draw(lessons: Sequence[Lesson], tokens: int, slices: int, seed: int, step: int) -> list[Sequence[Lesson]]:
    """Batches of a step: neighbours in the order of length of a text drawn at random."""
    rng = random.Random(f"restorable/{seed}/{step}")  # noqa: S311  sampling, not secrets
    batches = []
    for _ in range(slices):
        middle = rng.randrange(len(lessons))
        count = max(1, tokens // len(lessons[middle].ids))
        start = max(0, min(middle - rng.randrange(count), len(lessons) - count))
        batches.append(lessons[start : start + count])
    return batches


def _save(config: RestorableConfig, start: Start, texts: int, encoder: str, step: int) -> Artifact:
    """Vocabulary, and weights in half precision; a frozen backbone is named, not copied."""
    start.vocabulary.save(config.out)
    tensors = {
        name: tensor.detach().to(torch.float16)
        for name, tensor in start.network.state_dict().items()
        if not (config.shape.frozen and name.startswith("backbone."))
    }
    return save_artifact(config.out, tensors, config.facts(texts, step, encoder, start.backbone))
