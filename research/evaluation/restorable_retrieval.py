"""Evaluation of restoration for retrieval: bi-encoders trained from it and without it (Table 4 of RE, at our scale)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool

from models.encoders.restorable.model import RestorableModel
from research.evaluation.question_passages import QuestionSet
from research.evaluation.significance import mean_gain
from research.restorable.network import VariantNetwork, network_of
from research.training.bi_encoder import (
    BiEncoder,
    BiEncoderConfig,
    Input,
    encode_all,
    read_inputs,
    retrieving,
    train_bi_encoder,
)

CUTS = (1, 5, 20, 100)


@dataclass(frozen=True, slots=True)
class Read:
    """A set of questions, with what networks read of its questions and passages."""

    questions: QuestionSet
    question_inputs: Sequence[Input]
    passage_inputs: Sequence[Input]


def evaluate_restorable_retrieval(
    model: RestorableModel,
    learned: QuestionSet,
    measured: Mapping[str, QuestionSet],
    config: BiEncoderConfig,
    seeds: Sequence[int],
) -> dict[str, dict[str, object]]:
    """Recall x 100 by set, from restored weights (``restored``) and from untrained ones (``plain``).

    Both begin with the same backbone and see the same batches; recalls are means over seeds. ``gain`` is that of
    recall at 20, with its one-sided 95 % lower bound by a paired bootstrap over questions.
    """
    network, train = network_of(model), _read(model, learned)
    sets = {name: _read(model, each) for name, each in measured.items()}
    found: dict[str, dict[str, list[Bool[np.ndarray, "questions cuts"]]]] = {}
    for seed in seeds:
        for name, start in {"restored": retrieving(network), "plain": _untrained(network, seed)}.items():
            encoder = train_bi_encoder(
                start, learned, train.question_inputs, train.passage_inputs, replace(config, seed=seed)
            )
            for of_set, read in sets.items():
                found.setdefault(of_set, {}).setdefault(name, []).append(recalls(encoder, read))
    return {name: _figures(rows) for name, rows in found.items()}


def recalls(encoder: BiEncoder, read: Read) -> Bool[np.ndarray, "questions cuts"]:
    """A mask of the questions that a passage among the first 1, 5, 20 and 100 answers."""
    scores = encode_all(encoder.questions, read.question_inputs) @ encode_all(encoder.passages, read.passage_inputs).T
    order = np.argsort(-scores, axis=1, kind="stable")[:, : max(CUTS)]
    places = [
        next((place for place, one in enumerate(row) if one in gold), max(CUTS))
        for row, gold in zip(order.tolist(), read.questions.answers, strict=True)
    ]
    return np.array(places)[:, None] < np.array(CUTS)


def _figures(rows: Mapping[str, Sequence[Bool[np.ndarray, "questions cuts"]]]) -> dict[str, object]:
    means = {name: 100 * np.mean(np.stack(of_seeds), axis=0) for name, of_seeds in rows.items()}
    gain = mean_gain(means["restored"][:, CUTS.index(20)], means["plain"][:, CUTS.index(20)])
    return {
        "questions": len(means["restored"]),
        **{
            name: {f"recall@{cut}": round(float(values[:, place].mean()), 2) for place, cut in enumerate(CUTS)}
            for name, values in means.items()
        },
        "gain": {"recall@20": round(gain.difference, 2), "lower": round(gain.lower, 2)},
    }


def _read(model: RestorableModel, questions: QuestionSet) -> Read:
    return Read(
        questions,
        read_inputs(model, questions.questions),
        read_inputs(model, questions.passages),
    )


def _untrained(network: VariantNetwork, seed: int) -> VariantNetwork:
    torch.manual_seed(seed)
    return retrieving(VariantNetwork(network.shape, network.backbone))
