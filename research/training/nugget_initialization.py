"""What nugget training begins with: a scorer that knows where meanings change, and a projection that spreads them.

Both are fitted to what the frozen encoder makes of texts that no step draws. Without them the scorer would choose at
random, and the upper layers would learn from its choices for hundreds of steps. In the end the projection is fitted
once more, to the nuggets that have been learnt.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int32
from torch import Tensor
from torch.nn import functional

from models.backbones import Backbone
from models.encoders.nugget_network import NuggetNetwork
from models.encoders.selectors import PUNCTUATION, Selectors
from models.layers import inputs_of, layers_of
from models.ops.nuggets import count, segment_starts
from models.ops.similarity import normalize
from models.ops.whitening import Whitening, second_moment, whitening
from research.training.segmentation import best_segment_ends

RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25)
_BATCH = 16
_EVENLY = Whitening()
_SCORER_STEPS, _SCORER_TOKENS, _SCORER_RATE = 200, 1_024, 2e-3

Window = Int32[np.ndarray, " _tokens"]


def begin_well(network: NuggetNetwork, backbone: Backbone, layer: int, windows: Sequence[Window], seed: int) -> None:
    """Fit the scorer and the projection of a network to some windows."""
    states, labels, means = [], [], []
    marks = backbone.ids_of(PUNCTUATION)
    for begin in range(0, len(windows), _BATCH):
        batch = windows[begin : begin + _BATCH]
        with torch.inference_mode(), inputs_of(layers_of(backbone.model)[layer]) as seen:
            last = backbone.hidden(*backbone.pad(batch)).float().cpu().numpy()
        for row, window in enumerate(batch):
            places = slice(backbone.begin, backbone.begin + len(window))
            found, of_segments = boundaries(last[row, places], RATIOS, np.isin(window, marks))
            states.append(seen[0].hidden[row, places].float().cpu().clone())
            labels.append(torch.from_numpy(found))
            means.append(of_segments)
    fit_scorer(network, torch.cat(states), torch.cat(labels), seed)
    spread = whitening(second_moment(np.concatenate(means)), _EVENLY)
    with torch.no_grad():
        network.value.weight.copy_(torch.from_numpy(spread))


def end_well(
    network: NuggetNetwork,
    backbone: Backbone,
    layer: int,
    selectors: Selectors,
    windows: Sequence[Window],
) -> None:
    """Spread the nuggets that have been learnt evenly; every ratio counts alike."""
    found: dict[float, list[Float32[np.ndarray, "_nuggets dim"]]] = {}
    for begin in range(0, len(windows), _BATCH):
        batch = windows[begin : begin + _BATCH]
        ratio = RATIOS[begin // _BATCH % len(RATIOS)]
        with torch.inference_mode(), backbone.precision(), inputs_of(layers_of(backbone.model)[layer]) as seen:
            backbone.hidden(*backbone.pad(batch))
            lengths = [len(window) for window in batch]
            selected = network(seen[0], backbone.begin, lengths, selectors.of(batch, ratio))
        found.setdefault(ratio, []).append(selected.vectors[selected.real].float().cpu().numpy())
    moments = [second_moment(normalize(np.concatenate(nuggets))) for nuggets in found.values()]
    spread = torch.from_numpy(whitening(np.mean(moments, axis=0), _EVENLY))
    with torch.no_grad():
        network.value.weight.copy_(spread.to(network.value.weight.device) @ network.value.weight)


def boundaries(
    vectors: Float32[np.ndarray, "tokens dim"], ratios: Sequence[float], marks: Bool[np.ndarray, " tokens"]
) -> tuple[Float32[np.ndarray, " tokens"], Float32[np.ndarray, "segments dim"]]:
    """How often each token ends a segment, over the best segmentations at some ratios; and all segments' means.

    Segments end with punctuation as long as there is enough of it.
    """
    often, means = np.zeros(len(vectors), np.float32), [vectors[:0]]
    for ratio in ratios:
        if len(vectors):
            ends = best_segment_ends(vectors.astype(np.float64), count(len(vectors), ratio), marks)
            often[ends] += 1 / len(ratios)
            means.append(np.add.reduceat(vectors, segment_starts(np.asarray(ends))))
    return often, normalize(np.concatenate(means)).astype(np.float32)


def fit_scorer(
    network: NuggetNetwork, states: Float[Tensor, "tokens dim"], labels: Float[Tensor, " tokens"], seed: int
) -> None:
    """Let the scores say how likely a token ends a segment (logistic)."""
    generator = torch.Generator().manual_seed(seed)
    device = network.value.weight.device
    optimizer = torch.optim.Adam(network.scorer.parameters(), lr=_SCORER_RATE)
    with torch.enable_grad():
        for _ in range(_SCORER_STEPS):
            drawn = torch.randint(len(states), (_SCORER_TOKENS,), generator=generator)
            scores = network.scorer(states[drawn].to(device)).squeeze(-1)
            optimizer.zero_grad()
            functional.binary_cross_entropy_with_logits(scores, labels[drawn].to(device)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
