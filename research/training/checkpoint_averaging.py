"""Checkpoint averaging: the mean of the weights of several runs, often better than each of them.

Wortsman et al. (2022), "Model soups": runs fine-tuned from the same weights end in one basin of the loss, whose
centre generalizes better than its edges, where single runs stop. Wortsman et al. (2022), "Robust fine-tuning of
zero-shot models": part of the way back to the backbone restores what it did better before, at little cost.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from models.artifacts import Artifact, arrays_of, load_artifact, save_artifact
from models.backbones.torch_network import load_backbone
from models.encoders.slice import PROJECTION, projection_of, put_in_place
from models.errors import InvalidInput
from models.types import JsonValue
from research.training.config import SliceConfig
from research.training.slice import fit_projection, learnt_spans, load_teachers, read_material, trainable

# Settings of nugget weights in which all parts must agree.
_AGREED = ("backbone_sha256", "foundation_sha256", "layer", "feedback", "gather", "selector", "spacing", "data")


def average_slice(folders: Sequence[Path], config: SliceConfig, untrained: int = 0) -> Artifact:
    """Average the weights of several folders, equally weighted, and save them in ``config.out``.

    The backbone itself counts as so many of them as ``untrained`` says, but not in the lowest ``config.frozen_layers``
    layers: nuggets depend on those.

    The projection is refitted to the spans of the average, drawn from the texts that ``config`` names. Of its other
    settings only the backbone, the device and the seed are used.
    """
    parts = [load_artifact(folder) for folder in folders]
    student = load_backbone(config.backbone, device=config.device)
    begin = trainable(student, config.frozen_layers)
    tensors = _with_backbone(mean_tensors(parts), begin, untrained / (len(parts) + untrained))
    artifact = Artifact(arrays_of(tensors), dict(parts[0].config), "")
    put_in_place(student, artifact)
    spans = learnt_spans(student, load_teachers(config), read_material(config), config, step=0)
    projection = torch.from_numpy(projection_of(artifact)).to(student.device)
    tensors[PROJECTION] = fit_projection(spans, projection, config.seed).to("cpu", torch.float16)
    return save_artifact(
        config.out, tensors, _facts(parts, config) | {"untrained": untrained, "frozen_layers": config.frozen_layers}
    )


def average_nuggets(folders: Sequence[Path], out: Path) -> Artifact:
    """Average the nugget weights of several folders, equally weighted, and save them in ``out``.

    Raises ``InvalidInput`` for weights that differ in what they stand on or in how nuggets are chosen and made.
    """
    parts = [load_artifact(folder) for folder in folders]
    tensors = mean_tensors(parts)
    differing = [name for name in _AGREED if any(part.config.get(name) != parts[0].config.get(name) for part in parts)]
    if differing:
        raise InvalidInput(
            f"These weights differ in {', '.join(differing)}: they have no average.",
            hint="Average runs of spanseek train nugget that began with the same weights (--start).",
            field="of",
        )
    facts = {name: parts[0].config[name] for name in _AGREED}
    made: list[JsonValue] = [{"sha256": part.sha256, "made": part.config} for part in parts]
    return save_artifact(out, tensors, facts | {"recipe": "nugget-average.v1", "parts": made})


def mean_tensors(parts: Sequence[Artifact]) -> dict[str, Tensor]:
    """The mean of every tensor, fp16. Raises ``InvalidInput`` for weights that cannot be averaged."""
    if len(parts) < 2:
        raise InvalidInput("An average needs two or more trained encoders.", hint="Repeat --of.", field="of")
    first = parts[0]
    for other in parts[1:]:
        if _shapes(other) != _shapes(first) or other.config["backbone_sha256"] != first.config["backbone_sha256"]:
            raise InvalidInput(
                "These weights stand on different backbones, or hold different layers: they have no average.",
                hint="Average runs of one recipe that began with the same weights.",
                field="of",
            )
    tensors = [part.tensors for part in parts]
    return {
        name: torch.stack([of_part[name].float() for of_part in tensors]).mean(dim=0).to(torch.float16)
        for name in first.arrays
    }


def _with_backbone(tensors: Mapping[str, Tensor], backbone: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Tensors of which the backbone's own value makes this share; tensors that it does not have stay."""
    return {
        name: ((1 - share) * tensor.float() + share * backbone[name].detach().float()).to(torch.float16)
        if share and name in backbone
        else tensor
        for name, tensor in tensors.items()
    }


def _shapes(part: Artifact) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in part.arrays.items()}


def _facts(parts: Sequence[Artifact], config: SliceConfig) -> dict[str, JsonValue]:
    """Provenance: backbone, seed, and every part with its weight, its checksum and its own provenance."""
    weights = Counter(part.sha256 for part in parts)
    made = {part.sha256: part.config for part in parts}
    return {
        "recipe": "average.v1",
        "backbone_sha256": parts[0].config["backbone_sha256"],
        "seed": config.seed,
        "parts": [{"sha256": sha256, "weight": weight, "made": made[sha256]} for sha256, weight in weights.items()],
    }
