"""Evaluation of restoring texts from their vectors: Tables 2 and 3 of RE, with exact matches and confidences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from models.encoders.restorable.base import Restoration
from models.encoders.restorable.model import RestorableModel
from models.encoders.restorable.reading import group, pad
from models.encoders.restorable.vocabulary import BEGIN, Ids
from models.errors import InvalidInput
from research.evaluation.rouge import rouge_scores
from research.evaluation.significance import RESAMPLES, resample

_BATCH = 32
_SURE = 0.5
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Restored:
    """Texts, what came back of them, and the figures by name; ``bounds`` are 95 % intervals of means over texts."""

    texts: Sequence[str]
    restorations: Sequence[Restoration]
    figures: dict[str, float]
    bounds: dict[str, tuple[float, float]]


def evaluate_restoration(model: RestorableModel, texts: Sequence[str], beams: int = 1) -> Restored:
    """Restore texts and compare. Raises ``InvalidInput`` for no texts.

    Figures are perplexity of a token, ROUGE F1 x 100, the share of texts that come back exactly x 100; that share among
    texts whose confidence is 0.5 or more, and the share of such texts; the tokens and vectors of a text; and how many
    texts were left out because they are longer than the model reads.
    """
    given = len(texts)
    texts = [text for text in texts if len(model.vocabulary.ids([text])[0]) <= model.shape.longest]
    if not texts:
        raise InvalidInput(
            "There are no texts that can be restored.", hint="Check --data, --source and --length.", field="data"
        )
    memories = model.encode(texts)
    restorations = model.restore(memories, beams=beams)
    scores = rouge_scores([each.text for each in restorations], texts)
    scores["exact"] = 100.0 * np.array([each.text == text for each, text in zip(restorations, texts, strict=True)])
    sure = np.array([each.confidence >= _SURE for each in restorations])
    tokens = model.vocabulary.ids(texts)
    figures = {"texts": float(len(texts)), "too_long": float(given - len(texts))}
    figures["perplexity"] = round(perplexity(model, texts), 3)
    figures |= {name: round(float(values.mean()), 2) for name, values in scores.items()}
    figures |= {
        "sure": round(100 * float(sure.mean()), 2),
        "exact_if_sure": round(float(scores["exact"][sure].mean()), 2) if sure.any() else 0.0,
        "tokens": round(float(np.mean([len(row) for row in tokens])), 1),
        "vectors": round(float(np.mean([len(memory) for memory in memories])), 2),
    }
    return Restored(texts, restorations, figures, {name: _bounds(values) for name, values in scores.items()})


def perplexity(model: RestorableModel, texts: Sequence[str]) -> float:
    """The perplexity of a token, given the tokens before it and the vectors of its text."""
    ids = model.vocabulary.ids(texts)
    order = sorted(range(len(texts)), key=lambda number: len(ids[number]))
    batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
    total = math.fsum(_loss(model, [texts[n] for n in batch], [ids[n] for n in batch]) for batch in batches)
    return math.exp(total / sum(map(len, ids)))


@torch.inference_mode()
def _loss(model: RestorableModel, texts: Sequence[str], ids: Sequence[Ids]) -> float:
    memories = model.encode(texts)
    flat = np.concatenate(memories)[:, model.compared :]
    vectors, real = group(torch.from_numpy(flat), [len(memory) for memory in memories])
    inputs, mask = pad([np.append(np.int32(BEGIN), row[:-1]) for row in ids])
    targets, _ = pad(ids)
    scores = model.network(inputs, vectors, real)[mask]
    return torch.nn.functional.cross_entropy(scores, targets[mask], reduction="sum").item()


def _bounds(values: Float[np.ndarray, " texts"]) -> tuple[float, float]:
    means = np.concatenate([counts @ values / len(values) for counts in resample(len(values), RESAMPLES)])
    lower, upper = np.quantile(means, _INTERVAL)
    return round(float(lower), 2), round(float(upper), 2)
