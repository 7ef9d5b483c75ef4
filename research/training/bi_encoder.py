"""Bi-encoders over a frozen backbone: a question encoder and a passage encoder, trained in batches (DPR; RE, 4.4).

The backbone's hidden states of every text are computed once; what learns stands above them.
"""

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float16, Float32
from torch import Tensor
from torch.nn import functional
from torch.optim import AdamW

from models.batching import length_batches
from models.encoders.restorable.network import RestorableNetwork
from models.encoders.restorable.reading import Reader, pad
from models.errors import InvalidInput
from research.evaluation.question_passages import QuestionSet
from research.training.loop import Schedule

States: TypeAlias = Float16[np.ndarray, "_tokens states"]

_BATCH_TOKENS = 4096
_MOST_TOKENS = 160


@dataclass(frozen=True, slots=True)
class BiEncoder:
    """The networks that encode questions and passages."""

    questions: RestorableNetwork
    passages: RestorableNetwork


@dataclass(frozen=True, slots=True)
class BiEncoderConfig:
    """How a bi-encoder learns: in each step so many questions, whose passages are the others' negatives.

    ``sharpness`` multiplies the cosines before the softmax.
    """

    schedule: Schedule
    batch: int = 48
    sharpness: float = 20.0
    seed: int = 13


@torch.inference_mode()
def hidden_states(network: RestorableNetwork, reader: Reader, texts: Sequence[str]) -> list[States]:
    """The backbone's states of every text, of its first 160 tokens. Raises ``InvalidInput`` without a backbone."""
    if network.backbone is None:
        raise InvalidInput(
            "These weights read by no backbone.",
            hint="Train with --backbone frozen.",
            field="model",
        )
    rows = [of_text[0][:_MOST_TOKENS] for of_text in reader(texts, [])]
    states: list[States] = [np.zeros((0, 0), np.float16)] * len(rows)
    for batch in length_batches([len(row) for row in rows], _BATCH_TOKENS):
        ids, mask = pad([rows[number] for number in batch])
        made = network.backbone(input_ids=ids, attention_mask=mask).last_hidden_state.numpy()
        for number, of_text in zip(batch, made, strict=True):
            states[number] = of_text[: len(rows[number])].astype(np.float16)
    return states


def train_bi_encoder(
    start: RestorableNetwork,
    learned: QuestionSet,
    questions: Sequence[States],
    passages: Sequence[States],
    config: BiEncoderConfig,
) -> BiEncoder:
    """Two copies of a network, trained so that a question is nearest to its own passage."""
    encoder = BiEncoder(copy.deepcopy(start).train(), copy.deepcopy(start).train())
    parameters = [
        parameter
        for network in (encoder.questions, encoder.passages)
        for name, parameter in network.named_parameters()
        if name.startswith(("read.", "encoder.", "norm.", "project."))
    ]
    optimizer = AdamW(parameters, lr=config.schedule.rate, weight_decay=config.schedule.decay)
    for step in range(config.schedule.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.schedule.rate * config.schedule.factor(step)
        drawn = _draw(learned, config, step)
        scores = config.sharpness * (
            _encode(encoder.questions, [questions[number] for number, _ in drawn])
            @ _encode(encoder.passages, [passages[place] for _, place in drawn]).T
        )
        loss = functional.cross_entropy(scores, torch.arange(len(drawn)))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, config.schedule.clip)
        optimizer.step()
    return BiEncoder(encoder.questions.eval(), encoder.passages.eval())


@torch.inference_mode()
def encode_all(network: RestorableNetwork, states: Sequence[States]) -> Float32[np.ndarray, "texts dim"]:
    """The unit vectors of all texts."""
    vectors = np.zeros((len(states), network.shape.dim), np.float32)
    for batch in length_batches([len(row) for row in states], _BATCH_TOKENS):
        vectors[batch] = _encode(network, [states[number] for number in batch]).numpy()
    return vectors


def _encode(network: RestorableNetwork, states: Sequence[States]) -> Float[Tensor, "texts dim"]:
    longest = max(map(len, states))
    padded = np.zeros((len(states), longest, states[0].shape[1]), np.float32)
    mask = np.zeros((len(states), longest), bool)
    for number, row in enumerate(states):
        padded[number, : len(row)] = row
        mask[number, : len(row)] = True
    return functional.normalize(network.encode_states(torch.from_numpy(padded), torch.from_numpy(mask)), dim=-1)


def _draw(learned: QuestionSet, config: BiEncoderConfig, step: int) -> list[tuple[int, int]]:
    """Questions of a step with one of their passages each; no passage twice."""
    rng = random.Random(f"bi-encoder/{config.seed}/{step}")  # noqa: S311  sampling, not secrets
    drawn: dict[int, int] = {}
    for number in rng.sample(range(len(learned.questions)), min(config.batch, len(learned.questions))):
        drawn.setdefault(rng.choice(sorted(learned.answers[number])), number)
    return [(number, place) for place, number in drawn.items()]
