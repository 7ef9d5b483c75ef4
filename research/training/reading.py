"""Reading training texts: the student with gradients, the frozen teacher span by span, and topics of contexts."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int32
from torch import Tensor
from torch.nn import functional

from models.backbones.torch_network import Backbone
from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.text import units
from models.text.tokens import UnitTokens, join

TEACHER_BATCH = 64
STUDENT_BATCH = 14


def first_windows(backbone: Backbone, texts: Sequence[str]) -> list[UnitTokens]:
    """The units of every text that one forward pass reads: all of them, unless the text is longer than a window."""
    tokenized = zip(texts, backbone.tokenize(texts), strict=True)
    return [_first_window(text, join(units.split(text), tokens), backbone.window) for text, tokens in tokenized]


def _first_window(text: str, joined: UnitTokens, window: int) -> UnitTokens:
    count = int(np.searchsorted(joined.last, window, side="right"))
    if not count:
        raise InvalidInput(
            f"A text to be trained on holds no words that can be read: {text[:60]!r}",
            hint="Leave it out of the training data.",
        )
    return replace(
        joined,
        spans=joined.spans[:count],
        first=joined.first[:count],
        last=joined.last[:count],
        unknown=joined.unknown[:count],
    )


def unit_vectors(
    backbone: Backbone, joined: Sequence[UnitTokens]
) -> tuple[Float[Tensor, "texts units dim"], Int[Tensor, " texts"]]:
    """Unit vectors of every text, padded with zeros, and how many there are; texts of like length share a pass."""
    longest = max(map(len, joined))
    order = sorted(range(len(joined)), key=lambda number: len(joined[number].tokens.ids))
    parts = [order[begin : begin + STUDENT_BATCH] for begin in range(0, len(order), STUDENT_BATCH)]
    vectors = torch.cat([_units_of(backbone, [joined[number] for number in part], longest) for part in parts])
    counts = torch.tensor([len(of_text) for of_text in joined], device=vectors.device)
    return vectors[torch.from_numpy(np.argsort(order)).to(vectors.device)], counts


def _units_of(backbone: Backbone, joined: Sequence[UnitTokens], longest: int) -> Float[Tensor, "texts units dim"]:
    ids, mask = backbone.pad([of_text.tokens.ids[: backbone.window] for of_text in joined])
    hidden = backbone.hidden(ids, mask).float()
    first, last = (np.zeros((len(joined), longest), np.int64) for _ in range(2))
    for row, of_text in enumerate(joined):
        first[row, : len(of_text)], last[row, : len(of_text)] = of_text.first, of_text.last
    prefix = functional.pad(hidden.cumsum(dim=1), (0, 0, 1, 0))
    special = 1  # the one special token that stands before a text
    rows = torch.arange(len(joined), device=hidden.device)[:, None]
    ends, begins = (torch.from_numpy(bound + special).to(hidden.device) for bound in (last, first))
    return prefix[rows, ends] - prefix[rows, begins]


def alone(teacher: Backbone, texts: Sequence[str]) -> Float[Tensor, "texts dim"]:
    """Vectors that the frozen backbone gives texts on their own: unit-length means of token vectors."""
    tokens = teacher.tokenize(texts)
    order = sorted(range(len(texts)), key=lambda number: len(tokens[number].ids))
    batches = [order[begin : begin + TEACHER_BATCH] for begin in range(0, len(order), TEACHER_BATCH)]
    outputs = teacher.forward([tokens[number].ids[: teacher.window] for number in batch] for batch in batches)
    vectors = np.zeros((len(texts), teacher.dim), np.float32)
    for batch, outputs_of_batch in zip(batches, outputs, strict=True):
        vectors[batch] = np.stack([of_text.mean(axis=0) for of_text in outputs_of_batch])
    return functional.normalize(torch.from_numpy(vectors), dim=-1)


_AMONG = 40  # nearest contexts of which one is drawn: enough for a phrase to meet others when it is drawn again


class Topics:
    """A pool of contexts, and vectors that tell their topics: sums of word embeddings, rare tokens counting more.

    No forward pass is needed, and none would help: what a context says is not to be like the phrase, only its topic.
    """

    def __init__(self, backbone: Backbone, contexts: Sequence[str]) -> None:
        self._backbone = backbone
        self._contexts = list(contexts)
        embeddings: Float32[np.ndarray, "vocabulary dim"] = backbone.word_embeddings.detach().float().cpu().numpy()
        ids = [tokens.ids for tokens in backbone.tokenize(self._contexts)]
        frequencies = np.zeros(len(embeddings))
        for of_text in ids:
            frequencies[np.unique(of_text)] += 1
        self._rareness = np.log((1 + len(ids)) / (1 + frequencies)).astype(np.float32)
        self._embeddings = embeddings - embeddings.mean(axis=0)
        self._vectors = self._topics_of(ids)

    def near(self, phrase: str, rng: random.Random) -> str:
        """One of the contexts nearest to a phrase."""
        cosines = self._vectors @ self._topics_of([self._backbone.tokenize([phrase])[0].ids])[0]
        among = min(_AMONG, len(cosines))
        nearest = np.argpartition(-cosines, among - 1)[:among]
        # Sorted, because what argpartition leaves in which place is not promised.
        return self._contexts[int(rng.choice(sorted(nearest.tolist())))]

    def nearest(self, number: int, many: int) -> list[int]:
        """The numbers of so many contexts nearest to one of them, itself first."""
        cosines = self._vectors @ self._vectors[number]
        return np.argsort(-cosines, kind="stable")[:many].tolist()

    def _topics_of(self, ids: Sequence[Int32[np.ndarray, " _tokens"]]) -> Float32[np.ndarray, "texts dim"]:
        vectors = [(self._rareness[of_text, None] * self._embeddings[of_text]).sum(axis=0) for of_text in ids]
        return normalize(np.stack(vectors)).astype(np.float32)
