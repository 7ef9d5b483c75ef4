"""The recipe of the nugget language model: a small decoder learns to read what a frozen encoder made of history.

How far back it may look is drawn anew at every step, so that one decoder serves every length of history.

    spanseek train nugget-lm --data FOLDER --out FOLDER --checkpoints FOLDER
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int

from models.artifacts import Artifact, save_artifact
from models.backbones.torch_network import Backbone
from models.encoders.nuggets.base import NuggetEncoder
from models.errors import InvalidInput
from models.types import JsonValue
from research.nugget_lm.adaptive_softmax import AdaptiveSoftmax, by_frequency
from research.nugget_lm.histories import Histories, Kind, Read, gather, kept_histories
from research.nugget_lm.nugget_lm import ORDER, RECIPE, LmShape, NuggetLanguageModel, backbone_of, dim_of
from research.nugget_lm.segments import Segments, cut_segments, spoken
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, fit


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


_ALONE = 4  # of so many texts that are encoded one is shown a single vector


@dataclass(frozen=True, slots=True)
class LmMaterial:
    """Segments, what of each kind stands for them, and how often every word occurs."""

    segments: Segments
    histories: Mapping[Kind, Histories]
    counts: Int[np.ndarray, " vocabulary"]


def train_nugget_lm(
    config: NuggetLmConfig, encoder: NuggetEncoder, texts: Iterable[str], hooks: LoopHooks | None = None
) -> Artifact:
    """Train, and save the decoder (fp16) in ``config.out``; goes on from a checkpoint if there is one."""
    backbone = backbone_of(encoder)
    material = read_lm_material(config, encoder, texts)
    model = start_model(config, backbone, encoder, material.counts)
    parameters = dict(model.named_parameters())

    def losses(step: int) -> Losses:
        return lm_losses(model, backbone, material, config, step)

    def save(step: int) -> Artifact:
        tensors = {name: parameter.detach().to("cpu", torch.float16) for name, parameter in parameters.items()}
        order = model.predict.order.to("cpu", torch.int32)
        return save_artifact(config.out, tensors | {ORDER: order}, _facts(config, encoder, material, step))

    run = _facts(config, encoder, material, 0) | {"schedule": asdict(replace(config.schedule, steps=0))}
    checkpoints = Checkpoints(config.checkpoints, config.save_every, save, run)
    return save(fit(parameters, losses, config.schedule, checkpoints, hooks))


def read_lm_material(config: NuggetLmConfig, encoder: NuggetEncoder, texts: Iterable[str]) -> LmMaterial:
    """Cut texts into segments until there are enough, and encode these, or read what was encoded before."""
    backbone = backbone_of(encoder)
    tokens = (backbone.tokenize([text])[0] for text in texts)
    segments = cut_segments(tokens, config.shape.segment, backbone.unknown, config.segments, config.of_text)
    if not len(segments):
        raise InvalidInput("There is nothing to train on.", hint="Give texts that hold words.", field="data")
    cached = kept_histories(encoder, segments, config.ratios, config.cache)
    histories = {kind: cached[kind] for kind in config.kinds}
    counts = np.bincount(np.concatenate(segments.windows), minlength=len(backbone.word_embeddings))
    return LmMaterial(segments, histories, counts)


def start_model(
    config: NuggetLmConfig, backbone: Backbone, encoder: NuggetEncoder, counts: Int[np.ndarray, " vocabulary"]
) -> NuggetLanguageModel:
    """The parameters a training begins with."""
    dim = dim_of(encoder, config.kinds)
    predict = AdaptiveSoftmax(backbone.word_embeddings, by_frequency(counts), counts)
    return NuggetLanguageModel(backbone.word_embeddings, dim, predict, config.shape, config.seed).to(backbone.device)


def lm_losses(
    model: NuggetLanguageModel,
    backbone: Backbone,
    material: LmMaterial,
    config: NuggetLmConfig,
    step: int,
) -> Losses:
    """The losses of one step: of segments given those before them, and of segments given themselves.

    Kinds take turns; each sees what the others see.
    """
    turn, number = divmod(step, len(config.kinds))
    rng = np.random.default_rng([config.seed, turn])
    segments, histories = material.segments, material.histories[config.kinds[number]]
    history = int(rng.integers(config.shape.history + 1))
    predicted = rng.integers(len(segments), size=config.predicted).tolist()
    encoded = rng.integers(len(segments), size=config.encoded).tolist()
    histories_before = [segments.before(segment, history) for segment in predicted]
    read = gather(histories, [*histories_before, *([segment] for segment in encoded)], predicted + encoded)
    read = _some_alone(read, range(len(predicted), len(predicted) + len(encoded), _ALONE), rng)
    given, following = spoken(backbone, segments, predicted + encoded)
    losses = model.losses(given, following, read.to(backbone.device))
    first = int((following[: len(predicted)] >= 0).sum())
    parts = {"language": losses[:first], "auto_encoding": losses[first:]}
    return {name: part.mean() for name, part in parts.items() if len(part)}


def _some_alone(read: Read, rows: Iterable[int], rng: np.random.Generator) -> Read:
    """Hide all vectors of some texts but one."""
    real = read.real.clone()
    for row in rows:
        (places,) = np.nonzero(real[row].numpy())
        if len(places):
            real[row] = False
            real[row, int(rng.choice(places))] = True
    return replace(read, real=real)


def _facts(config: NuggetLmConfig, encoder: NuggetEncoder, material: LmMaterial, step: int) -> dict[str, JsonValue]:
    """Facts that a reader of the weights must know: on what they stand and how they were made."""
    facts: dict[str, JsonValue] = {
        "recipe": RECIPE,
        "encoder": encoder.fingerprint,
        "backbone_sha256": backbone_of(encoder).weights_sha256,
        "steps": step,
        "segments": len(material.segments),
        "tokens": int(material.counts.sum()),
        "schedule": asdict(config.schedule),
        "shape": asdict(config.shape),
    }
    for name in ("seed", "predicted", "encoded", "of_text"):
        facts[name] = getattr(config, name)
    facts |= {"kinds": list(config.kinds), "ratios": list(config.ratios)}
    return facts | ({"selector": config.selector} if config.selector else {})
