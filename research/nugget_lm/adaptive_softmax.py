"""Probabilities of words in two steps: a frequent word, or a class of rare ones and then one of these.

Exact and normalised, but cheaper than a softmax over a whole vocabulary, since most tokens are frequent ones (Grave et
al., 2017, "Efficient softmax approximation for GPUs"). What stands for a word is the frozen embedding it goes in as.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

CUTS = (2_000, 8_000)
_UNSEEN = 0.1  # what a word counts that no text has


class AdaptiveSoftmax(nn.Module):
    """Adaptive softmax: the likelihood of every word in a state. It begins as frequencies alone.

    ``order`` holds the ids of all words, the most frequent first; the first ``cuts[0]`` are frequent, and rare ones
    are in classes between one cut and the next.
    """

    def __init__(
        self,
        words: Float[Tensor, "vocabulary dim"],
        order: Int[np.ndarray, " vocabulary"],
        counts: Int[np.ndarray, " vocabulary"],
        cuts: Sequence[int] = CUTS,
    ) -> None:
        super().__init__()
        self.order = torch.from_numpy(order.astype(np.int64)).to(words.device)
        self.place = torch.argsort(self.order)
        self.words = words.detach()[self.order]
        edges = [0, *(cut for cut in cuts if cut < len(order)), len(order)]
        self.classes = list(pairwise(edges))
        shares = np.maximum(counts[order], _UNSEEN)
        within = np.concatenate(
            [shares[begin:end] / shares[begin:end].sum() for begin, end in self.classes[1:]] or [[]]
        )
        masses = np.array([shares[begin:end].sum() for begin, end in self.classes[1:]])
        frequent = shares[: self.classes[0][1]]
        self.bias = nn.Parameter(_log(np.concatenate([frequent / shares.sum(), within])))
        self.of_class = nn.Parameter(_log(masses / shares.sum()))
        self.to_class = nn.Parameter(torch.zeros(len(masses), words.shape[1]))

    def losses(self, states: Float[Tensor, "tokens dim"], targets: Int[Tensor, " tokens"]) -> Float[Tensor, " tokens"]:
        """Negative log likelihood of every token's target."""
        places = self.place[targets]
        frequent = self._head(states)
        first = self.classes[0][1]
        chosen = torch.where(places < first, places, 0)
        for number, (begin, end) in enumerate(self.classes[1:]):
            chosen = torch.where((places >= begin) & (places < end), first + number, chosen)
        losses = functional.cross_entropy(frequent, chosen, reduction="none")
        for begin, end in self.classes[1:]:
            rows = torch.nonzero((places >= begin) & (places < end)).squeeze(-1)
            if len(rows):
                rare = functional.cross_entropy(
                    self._tail(states[rows], begin, end), places[rows] - begin, reduction="none"
                )
                losses = losses.index_add(0, rows, rare)
        return losses

    def log_likelihoods(self, states: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens vocabulary"]:
        """Log likelihoods of all words, by id."""
        frequent = self._head(states).log_softmax(dim=-1)
        first = self.classes[0][1]
        parts = [frequent[:, :first]]
        for number, (begin, end) in enumerate(self.classes[1:]):
            parts.append(frequent[:, first + number, None] + self._tail(states, begin, end).log_softmax(dim=-1))
        return torch.cat(parts, dim=-1)[:, self.place]

    def likeliest(self, states: Float[Tensor, "tokens dim"]) -> Int[Tensor, " tokens"]:
        """The likeliest word of every state. A class that is less likely than a word holds no likelier one."""
        frequent = self._head(states).log_softmax(dim=-1)
        first = self.classes[0][1]
        best, place = frequent[:, :first].max(dim=-1)
        for number, (begin, end) in enumerate(self.classes[1:]):
            rows = torch.nonzero(frequent[:, first + number] > best).squeeze(-1)
            if len(rows):
                inside, at = self._tail(states[rows], begin, end).log_softmax(dim=-1).max(dim=-1)
                likeliest = inside + frequent[rows, first + number]
                better = likeliest > best[rows]
                best[rows[better]], place[rows[better]] = likeliest[better], at[better] + begin
        return self.order[place]

    def _head(self, states: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens choices"]:
        begin, end = self.classes[0]
        words = states @ self.words[begin:end].T + self.bias[begin:end]
        return torch.cat([words, states @ self.to_class.T + self.of_class], dim=-1)

    def _tail(self, states: Float[Tensor, "tokens dim"], begin: int, end: int) -> Float[Tensor, "tokens choices"]:
        return states @ self.words[begin:end].T + self.bias[begin:end]


def by_frequency(counts: Int[np.ndarray, " vocabulary"]) -> Int[np.ndarray, " vocabulary"]:
    """Ids of words, the most frequent first; of equally frequent ones the lower id.

    >>> by_frequency(np.array([1, 5, 1, 9])).tolist()
    [3, 1, 0, 2]
    """
    return np.argsort(-counts, kind="stable")


def _log(shares: Float[np.ndarray, " choices"]) -> Tensor:
    return torch.from_numpy(np.log(shares).astype(np.float32))
