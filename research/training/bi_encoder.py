"""Bi-encoders: a question encoder and a passage encoder, trained in batches (DPR; RE, section 4.4).

Over a frozen backbone, the hidden states of every text are computed once; what learns stands above them. An encoder
without a backbone learns as a whole; the vector of a text is the mean of the projections of all its tokens.
"""

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float16, Float32
from torch import Tensor
from torch.nn import functional
from torch.optim import AdamW

from models.backbones.devices import has_native_bf16
from models.encoders.restorable.model import RestorableModel
from models.encoders.restorable.reading import Reader, pad
from models.encoders.restorable.vocabulary import Ids
from models.errors import InvalidInput
from models.ops.batching import length_batches
from research.evaluation.question_passages import QuestionSet
from research.restorable.network import VariantNetwork, network_of
from research.training.loop import Schedule

# What a network reads of a text: hidden states of its backbone, or tokens of its own vocabulary.
States: TypeAlias = Float16[np.ndarray, "_tokens _states"]
Input: TypeAlias = States | Ids

_BATCH_TOKENS = 4096
_MOST_TOKENS = 160
_LEARNED = ("embed.", "places", "read.", "encoder.", "norm.", "project.")


@dataclass(frozen=True, slots=True)
class BiEncoder:
    """The networks that encode questions and passages."""

    questions: VariantNetwork
    passages: VariantNetwork


@dataclass(frozen=True, slots=True)
class BiEncoderConfig:
    """Training options of a bi-encoder: in each step so many questions, whose passages are the others' negatives.

    ``sharpness`` multiplies the cosines before the softmax.
    """

    schedule: Schedule
    batch: int = 48
    sharpness: float = 20.0
    seed: int = 13


def read_inputs(model: RestorableModel, texts: Sequence[str]) -> list[Input]:
    """The beginning of every text, 160 tokens, which the network reads."""
    network = network_of(model)
    if network.backbone is not None:
        return [*hidden_states(network, model.reader, texts)]
    return [row[:-1][:_MOST_TOKENS] for row in model.vocabulary.ids(texts)]


def retrieving(network: VariantNetwork) -> VariantNetwork:
    """A copy whose vectors are plain means: bound ones tell the same word at two places as two."""
    copied = VariantNetwork(replace(network.shape, pooling="mean"), network.backbone)
    copied.load_state_dict(network.state_dict())
    return copied.eval()


@torch.inference_mode()
def hidden_states(network: VariantNetwork, reader: Reader, texts: Sequence[str]) -> list[States]:
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
    start: VariantNetwork,
    learned: QuestionSet,
    questions: Sequence[Input],
    passages: Sequence[Input],
    config: BiEncoderConfig,
) -> BiEncoder:
    """Two copies of a network, trained so that a question is nearest to its own passage."""
    encoder = BiEncoder(copy.deepcopy(start).train(), copy.deepcopy(start).train())
    parameters = [
        parameter
        for network in (encoder.questions, encoder.passages)
        for name, parameter in network.named_parameters()
        if name.startswith(_LEARNED) and parameter.requires_grad
    ]
    # Of a frozen backbone only small layers learn, which gain nothing by it.
    is_half = start.backbone is None and has_native_bf16(torch.device("cpu"))
    optimizer = AdamW(parameters, lr=config.schedule.rate, weight_decay=config.schedule.decay)
    for step in range(config.schedule.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.schedule.rate * config.schedule.factor(step)
        drawn = _draw(learned, config, step)
        with torch.autocast("cpu", torch.bfloat16, enabled=is_half):
            vectors = _encode(encoder.questions, [questions[number] for number, _ in drawn])
            others = _encode(encoder.passages, [passages[place] for _, place in drawn])
        scores = config.sharpness * (vectors.float() @ others.float().T)
        loss = functional.cross_entropy(scores, torch.arange(len(drawn)))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, config.schedule.clip)
        optimizer.step()
    return BiEncoder(encoder.questions.eval(), encoder.passages.eval())


@torch.inference_mode()
def encode_all(network: VariantNetwork, inputs: Sequence[Input]) -> Float32[np.ndarray, "texts dim"]:
    """The unit vectors of all texts."""
    vectors = np.zeros((len(inputs), network.shape.dim), np.float32)
    for batch in length_batches([len(row) for row in inputs], _BATCH_TOKENS):
        vectors[batch] = _encode(network, [inputs[number] for number in batch]).numpy()
    return vectors


def _encode(network: VariantNetwork, inputs: Sequence[Input]) -> Float[Tensor, "texts dim"]:
    of_texts = _of_tokens if network.backbone is None else _of_states
    return functional.normalize(of_texts(network, inputs), dim=-1)


def _of_states(network: VariantNetwork, states: Sequence[States]) -> Float[Tensor, "texts dim"]:
    longest = max(map(len, states))
    padded = np.zeros((len(states), longest, states[0].shape[1]), np.float32)
    mask = np.zeros((len(states), longest), bool)
    for number, row in enumerate(states):
        padded[number, : len(row)] = row
        mask[number, : len(row)] = True
    return network.encode_states(torch.from_numpy(padded), torch.from_numpy(mask))


def _of_tokens(network: VariantNetwork, texts: Sequence[Ids]) -> Float[Tensor, "texts dim"]:
    """The sums of the projections of all tokens, which are read by stretches."""
    stretch = network.shape.stretch
    rows = [row[start : start + stretch] for row in texts for start in range(0, max(1, len(row)), stretch)]
    of_text = [number for number, row in enumerate(texts) for _ in range(0, max(1, len(row)), stretch)]
    ids, mask = pad(rows)
    sums = network.encode(ids, mask) * mask.sum(dim=1, keepdim=True).sqrt()
    return sums.new_zeros(len(texts), sums.shape[1]).index_add(0, torch.tensor(of_text), sums)


def _draw(learned: QuestionSet, config: BiEncoderConfig, step: int) -> list[tuple[int, int]]:
    """Questions of a step with one of their passages each; no passage twice."""
    rng = random.Random(f"bi-encoder/{config.seed}/{step}")  # noqa: S311  sampling, not secrets
    drawn: dict[int, int] = {}
    for number in rng.sample(range(len(learned.questions)), min(config.batch, len(learned.questions))):
        drawn.setdefault(rng.choice(sorted(learned.answers[number])), number)
    return [(number, place) for place, number in drawn.items()]
