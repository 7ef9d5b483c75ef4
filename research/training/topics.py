"""Contexts that speak of what a phrase speaks of: distractors such as a coherent text has around a phrase."""

import random
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Int32

from models.backbones import Backbone
from models.ops.similarity import normalize

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
        found = np.zeros(len(embeddings))
        for of_text in ids:
            found[np.unique(of_text)] += 1
        self._rareness = np.log((1 + len(ids)) / (1 + found)).astype(np.float32)
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
