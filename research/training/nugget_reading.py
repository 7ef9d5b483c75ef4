"""How nugget training reads windows: the frozen layers once, the nuggets' own network with a gradient."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32
from torch import Tensor
from torch.nn import functional

from models.backbones import Backbone
from models.encoders.nugget_network import NuggetNetwork, Selected
from models.encoders.selectors import PUNCTUATION, Selectors
from models.layers import inputs_of, layers_of
from models.ops.segment_means import segment_means
from research.training.nugget_start import boundaries

Window = Int32[np.ndarray, " _tokens"]
BATCH_TOKENS = 2_048


@dataclass(frozen=True, slots=True)
class ReadNuggets:
    """The nuggets of a step's windows, padded, and the means of the teacher's vectors of their segments."""

    vectors: Float[Tensor, "windows nuggets dim"]
    scores: Float[Tensor, "windows nuggets"]
    real: Bool[Tensor, "windows nuggets"]
    segments: Float[Tensor, "windows nuggets dim"]
    boundary_loss: Float[Tensor, ""]

    def rows(self, numbers: Sequence[int]) -> "ReadNuggets":
        """Some of the windows, in this order."""
        chosen = torch.tensor(numbers, dtype=torch.long, device=self.real.device)
        return ReadNuggets(
            self.vectors[chosen], self.scores[chosen], self.real[chosen], self.segments[chosen], self.boundary_loss
        )


@dataclass(frozen=True, slots=True)
class Reader:
    """The frozen encoder, the network being trained on its layer, who chooses, and who says what segments mean.

    Without a ``teacher`` that is the frozen encoder too.
    """

    backbone: Backbone
    network: NuggetNetwork
    selectors: Selectors
    layer: int
    teacher: Backbone | None = None

    @property
    def _marks(self) -> Int32[np.ndarray, " found"]:
        return self.backbone.ids_of(PUNCTUATION)

    def read(self, windows: Sequence[Window], ratio: float, noise: float, rng: np.random.Generator) -> ReadNuggets:
        """The nuggets of all windows, in order; windows of like length share a pass."""
        order = sorted(range(len(windows)), key=lambda number: len(windows[number]))
        step = max(1, BATCH_TOKENS // max(len(windows[order[-1]]), 1))
        parts = [order[begin : begin + step] for begin in range(0, len(order), step)]
        found = [self._read([windows[number] for number in part], ratio, noise, rng) for part in parts]
        back = torch.from_numpy(np.argsort(order)).to(found[0].real.device)
        width = max(part.real.shape[1] for part in found)
        return ReadNuggets(
            torch.cat([_wide(part.vectors, width) for part in found])[back],
            torch.cat([_wide(part.scores[..., None], width)[..., 0] for part in found])[back],
            torch.cat([_wide(part.real[..., None], width)[..., 0] for part in found])[back],
            torch.cat([_wide(part.segments, width) for part in found])[back],
            torch.stack([part.boundary_loss * len(part.real) for part in found]).sum() / len(windows),
        )

    def _read(self, windows: Sequence[Window], ratio: float, noise: float, rng: np.random.Generator) -> ReadNuggets:
        ids, mask = self.backbone.pad(windows)
        with torch.no_grad(), inputs_of(layers_of(self.backbone.model)[self.layer]) as seen:
            states = self.backbone.hidden(ids, mask).float()
            taught = self.teacher.hidden(ids, mask).float() if self.teacher else states
        choose = self.selectors.of(windows, ratio)

        def select(row: int, scores: Float32[np.ndarray, " tokens"]) -> Int[np.ndarray, " nuggets"]:
            return choose(row, scores + noise * rng.gumbel(size=len(scores)).astype(np.float32))

        with self.backbone.precision():
            found: Selected = self.network(seen[0], self.backbone.begin, [len(window) for window in windows], select)
        means = segment_means(taught, found.positions, found.real, self.backbone.begin)
        loss = self._boundary_loss(found, states, windows, ratio)
        return ReadNuggets(found.vectors.float(), found.scores.float(), found.real, means, loss)

    def _boundary_loss(
        self, found: Selected, states: Float[Tensor, "windows padded dim"], windows: Sequence[Window], ratio: float
    ) -> Float[Tensor, ""]:
        """How badly scores tell where the best segments of this ratio end (logistic)."""
        wanted, scores = [], []
        for row, window in enumerate(windows):
            places = slice(self.backbone.begin, self.backbone.begin + len(window))
            wanted.append(boundaries(states[row, places].cpu().numpy(), (ratio,), np.isin(window, self._marks))[0])
            scores.append(found.all_scores[row, places].float())
        labels = torch.from_numpy(np.concatenate(wanted)).to(states.device)
        return functional.binary_cross_entropy_with_logits(torch.cat(scores), labels)


def _wide(rows: Tensor, width: int) -> Tensor:
    """Rows with room for so many nuggets."""
    return functional.pad(rows, (0, 0, 0, width - rows.shape[1]))
