"""Evaluation of how much of a text its nuggets hold (section 5.1 of the Nugget paper).

The figure is the share of tokens that a decoder says right. The decoder is given the true tokens before each one. What
it says right without any nugget it knows of the language alone. Selectors are compared on the same sentences, each by
the decoder that learnt to read what it chooses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.artifacts import Artifact
from models.encoders.nuggets.base import NuggetEncoder
from research.evaluation.nugget_lm import TokenLosses, kinds_of, loss_gain
from research.nugget_lm.histories import Histories, gather, kept_histories
from research.nugget_lm.nugget_lm import NuggetLanguageModel, backbone_of, load_language_model
from research.nugget_lm.segments import Segments, spoken

RATIOS = (0.05, 0.1, 0.25)
_BATCH = 32


@dataclass(frozen=True, slots=True)
class Decoded:
    """Tokens said wrong, at one ratio, and the mean number of a sentence's vectors."""

    wrong: TokenLosses
    vectors: float

    @property
    def accuracy(self) -> float:
        """The share of tokens that were said right."""
        return round(1 - float(self.wrong.losses[self.wrong.scored].mean(dtype=np.float64)), 6)


@dataclass(frozen=True, slots=True)
class AutoEncodingReport:
    """Results of decoding the same sentences, by selector and ratio; at ratio 0 without any vector."""

    decoded: Mapping[str, Mapping[float, Decoded]]

    def curves(self) -> dict[str, dict[float, float]]:
        """Accuracies by ratio, by selector."""
        return {name: {ratio: decoded.accuracy for ratio, decoded in row.items()} for name, row in self.decoded.items()}

    def as_json(self) -> dict[str, Any]:
        """The figures alone; gains are those of ``learned`` over each of the others, with lower bounds."""
        some = next(iter(next(iter(self.decoded.values())).values())).wrong
        return {
            "sentences": len(some.scored),
            "tokens": int(some.scored.sum()),
            "accuracy": self.curves(),
            "vectors_per_sentence": {
                name: {ratio: round(decoded.vectors, 4) for ratio, decoded in row.items()}
                for name, row in self.decoded.items()
            },
            "gains_of_learned": self._gains(),
        }

    def _gains(self) -> dict[str, dict[float, dict[str, float]]]:
        ours = self.decoded.get("learned", {})
        others = {name: row for name, row in self.decoded.items() if name != "learned"}
        return {
            name: {ratio: loss_gain(ours[ratio].wrong, decoded.wrong) for ratio, decoded in row.items()}
            for name, row in others.items()
            if ours
        }


def selector_of(artifact: Artifact) -> str:
    """By whom was chosen what a model has learnt to read; what it read first, where it read several kinds."""
    return "mean" if kinds_of(artifact)[0] == "mean" else str(artifact.config.get("selector", "learned"))


def decode_all(
    artifact: Artifact, encoder: NuggetEncoder, segments: Segments, cache: Path, ratios: Sequence[float]
) -> dict[float, Decoded]:
    """Decode every segment with a model, given what stands for it at each ratio, and given nothing (ratio 0)."""
    model = load_language_model(artifact, encoder)
    decoded: dict[float, Decoded] = {}
    for ratio in ratios:
        histories = kept_histories(encoder, segments, (ratio,), cache)[kinds_of(artifact)[0]]
        if not decoded:
            decoded[0.0] = Decoded(_wrong(model, encoder, segments, histories, shown=False), 0.0)
        wrong = _wrong(model, encoder, segments, histories, shown=True)
        decoded[ratio] = Decoded(wrong, len(histories.vectors) / len(segments))
    return decoded


def _wrong(
    model: NuggetLanguageModel, encoder: NuggetEncoder, segments: Segments, histories: Histories, *, shown: bool
) -> TokenLosses:
    """Mark the tokens of every segment that are not the likeliest ones."""
    backbone = backbone_of(encoder)
    wrong = np.zeros((len(segments), model.shape.segment), np.float32)
    scored = np.zeros(wrong.shape, bool)
    numbers = iter(range(len(segments)))
    while batch := list(islice(numbers, _BATCH)):
        given, following = spoken(backbone, segments, batch)
        read = gather(histories, [[number] if shown else [] for number in batch], batch).to(backbone.device)
        with torch.inference_mode():
            states = model.states(given, read)
            predicted = model.predict.likeliest(states.flatten(0, 1)).view(following.shape)
        width = following.shape[1]
        scored[batch, :width] = (following >= 0).cpu().numpy()
        wrong[batch, :width] = (predicted != following).float().cpu().numpy()
    return TokenLosses(wrong, scored)
