"""Perplexity of language models that read what stands for the segments before: table 3 of the Nugget paper.

Every segment of a text is predicted on its own, from its first token on; tokens of unknown words do not
count. All models and lengths of history are measured on the same tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float32

from models.artifacts import Artifact
from models.encoders.nuggets.base import NuggetEncoder
from models.errors import InvalidInput
from research.evaluation.significance import LEVEL, resample
from research.evaluation.wikitext import UNKNOWN
from research.nugget_lm.histories import Histories, Kind, gather, kept_histories
from research.nugget_lm.nugget_lm import NuggetLanguageModel, backbone_of, load_language_model
from research.nugget_lm.segments import Segments, cut_segments, spoken, tokens_with_unknown

_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class TokenLosses:
    """The loss of every token of every segment, in nats, and which tokens count."""

    losses: Float32[np.ndarray, "segments places"]
    scored: Bool[np.ndarray, "segments places"]

    @property
    def perplexity(self) -> float:
        """Over all tokens that count.

        >>> TokenLosses(np.log(np.array([[2, 8]], np.float32)), np.array([[True, True]])).perplexity
        4.0
        """
        return round(float(np.exp(self.losses[self.scored].mean(dtype=np.float64))), 4)

    def later(self) -> "TokenLosses":
        """The second half of every segment, which has the first half as context."""
        half = self.losses.shape[1] // 2
        return TokenLosses(self.losses[:, half:], self.scored[:, half:])


def loss_gain(ours: TokenLosses, theirs: TokenLosses) -> dict[str, float]:
    """By how many nats a token ours is lower, and the one-sided 95 % lower bound (paired bootstrap over segments).

    >>> scored = np.ones((2, 2), bool)
    >>> ours = TokenLosses(np.ones((2, 2), np.float32), scored)
    >>> loss_gain(ours, TokenLosses(ours.losses * 2, scored))
    {'difference': 1.0, 'lower': 1.0}
    """
    differences = np.where(ours.scored, theirs.losses - ours.losses, 0).sum(axis=1, dtype=np.float64)
    tokens = ours.scored.sum(axis=1)
    drawn = [counts @ differences / np.maximum(counts @ tokens, 1) for counts in resample(len(tokens), _RESAMPLES)]
    return {
        "difference": round(float(differences.sum() / tokens.sum()), 6),
        "lower": round(float(np.quantile(np.concatenate(drawn), LEVEL)), 6),
    }


HISTORIES = (0, 1, 2, 4, 8)
_BATCH = 32


@dataclass(frozen=True, slots=True)
class LmReport:
    """Losses by model and by how many segments before are read."""

    losses: Mapping[str, Mapping[int, TokenLosses]]

    def curves(self) -> dict[str, dict[int, float]]:
        """Perplexity by length of history, by model."""
        return {name: {h: losses.perplexity for h, losses in row.items()} for name, row in self.losses.items()}

    def as_json(self) -> dict[str, Any]:
        """The figures alone: perplexities, those of second halves of segments, and gains with their bounds."""
        some = next(iter(next(iter(self.losses.values())).values()))
        later = {name: {h: losses.later().perplexity for h, losses in row.items()} for name, row in self.losses.items()}
        return {
            "segments": len(some.scored),
            "tokens": int(some.scored.sum()),
            "perplexity": self.curves(),
            "perplexity_later": later,
            "history_gains": {name: self._over_none(row) for name, row in self.losses.items()},
            "gains_over_mean": self._over_mean(),
        }

    def _over_none(self, row: Mapping[int, TokenLosses]) -> dict[int, dict[str, float]]:
        return {h: loss_gain(losses, row[0]) for h, losses in row.items() if h} if 0 in row else {}

    def _over_mean(self) -> dict[str, dict[int, dict[str, float]]]:
        mean = self.losses.get("mean", {})
        others = {name: row for name, row in self.losses.items() if name != "mean"}
        return {name: {h: loss_gain(row[h], mean[h]) for h in row} for name, row in others.items()} if mean else {}


def segments_of(encoder: NuggetEncoder, texts: Sequence[str], length: int, most: int | None) -> Segments:
    """The segments of articles as WikiText has them; with ``most``, those of the first articles that bring as many."""
    backbone = backbone_of(encoder)
    tokens = (tokens_with_unknown(backbone, text, UNKNOWN) for text in texts)
    return cut_segments(tokens, length, backbone.unknown, most)


def evaluate_language_models(
    models: Mapping[str, tuple[Artifact, Kind]],
    encoder: NuggetEncoder,
    segments: Segments,
    cache: Path,
    histories: Sequence[int] = HISTORIES,
) -> LmReport:
    """Perplexities, by name, of models that read one kind each. Raises ``InvalidInput`` for too long a history."""
    losses: dict[str, dict[int, TokenLosses]] = {}
    for name, (artifact, kind) in models.items():
        model = load_language_model(artifact, encoder)
        _check(name, model, segments, histories)
        read = kept_histories(encoder, segments, ratios_of(artifact)[:1], cache)[kind]
        losses[name] = {h: token_losses(model, encoder, segments, read, h) for h in histories}
    return LmReport(losses)


def named(kinds: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Names for models: what they read, and their folder too where several read the same.

    >>> named(["nuggets", "mean"], [Path("a"), Path("b")]), named(["mean", "mean"], [Path("a"), Path("b")])
    (['nuggets', 'mean'], ['mean (a)', 'mean (b)'])
    """
    pairs = zip(kinds, folders, strict=True)
    return [kind if kinds.count(kind) == 1 else f"{kind} ({folder})" for kind, folder in pairs]


def kinds_of(artifact: Artifact) -> list[Kind]:
    """Kinds of vectors that a model has learnt to read."""
    kinds: Any = artifact.config["kinds"]
    return list(kinds)


def ratios_of(artifact: Artifact) -> list[float]:
    """The ratios of nuggets that a model has learnt to read."""
    ratios: Any = artifact.config["ratios"]
    return [float(ratio) for ratio in ratios]


def token_losses(
    model: NuggetLanguageModel, encoder: NuggetEncoder, segments: Segments, histories: Histories, history: int
) -> TokenLosses:
    """The loss of every token, given so many segments before its own, as far as the text has them."""
    backbone = backbone_of(encoder)
    shape = (len(segments), model.shape.segment)
    losses, scored = np.zeros(shape, np.float32), np.zeros(shape, bool)
    numbers = iter(range(len(segments)))
    while batch := list(islice(numbers, _BATCH)):
        given, following = spoken(backbone, segments, batch)
        read = gather(histories, [segments.before(number, history) for number in batch], batch).to(backbone.device)
        with torch.inference_mode():
            batch_losses = model.losses(given, following, read).float().cpu().numpy()
        counted = np.zeros((len(batch), shape[1]), bool)
        counted[:, : following.shape[1]] = following.cpu().numpy() >= 0
        scored[batch] = counted
        losses[batch[0] : batch[-1] + 1][counted] = batch_losses
    return TokenLosses(losses, scored)


def _check(name: str, model: NuggetLanguageModel, segments: Segments, histories: Sequence[int]) -> None:
    longest = max((len(window) for window in segments.windows), default=0)
    if not longest or longest > model.shape.segment or max(histories) > model.shape.history:
        raise InvalidInput(
            f"The model {name} reads segments of {model.shape.segment} tokens and looks back {model.shape.history}; "
            f"the longest segment has {longest}, and {max(histories)} are asked for.",
            hint="Give models of one length of segments, texts that hold words, and a shorter history.",
            field="history",
        )
