"""Initial state of nugget training: a scorer that knows where meanings change, and a projection that spreads them.

Both are fitted to what the frozen encoder makes of texts that no step draws. Without them the scorer would choose at
random, and the upper layers would learn from its choices for hundreds of steps. In the end the projection is fitted
once more, to the nuggets that have been learnt.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32
from torch import Tensor
from torch.nn import functional

from models.backbones.layers import inputs_of, layers_of
from models.backbones.torch_network import Backbone
from models.encoders.nuggets.network import NuggetNetwork
from models.encoders.nuggets.selectors import Selectors
from models.ops.nuggets import count, segment_starts
from models.ops.similarity import normalize
from models.ops.whitening import Whitening, second_moment, whitening
from research.nugget_lm.selectors import PUNCTUATION

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
            ends, of_segments = boundaries(last[row, places], RATIOS, np.isin(window, marks))
            states.append(seen[0].hidden[row, places].float().cpu().clone())
            labels.append(torch.from_numpy(ends))
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
    vectors_by_ratio: dict[float, list[Float32[np.ndarray, "_nuggets dim"]]] = {}
    for begin in range(0, len(windows), _BATCH):
        batch = windows[begin : begin + _BATCH]
        ratio = RATIOS[begin // _BATCH % len(RATIOS)]
        with torch.inference_mode(), backbone.precision(), inputs_of(layers_of(backbone.model)[layer]) as seen:
            backbone.hidden(*backbone.pad(batch))
            lengths = [len(window) for window in batch]
            selected = network(seen[0], backbone.begin, lengths, selectors.of(batch, ratio))
        vectors_by_ratio.setdefault(ratio, []).append(selected.vectors[selected.real].float().cpu().numpy())
    moments = [second_moment(normalize(np.concatenate(nuggets))) for nuggets in vectors_by_ratio.values()]
    spread = torch.from_numpy(whitening(np.mean(moments, axis=0), _EVENLY))
    with torch.no_grad():
        network.value.weight.copy_(spread.to(network.value.weight.device) @ network.value.weight)


def boundaries(
    vectors: Float32[np.ndarray, "tokens dim"], ratios: Sequence[float], marks: Bool[np.ndarray, " tokens"]
) -> tuple[Float32[np.ndarray, " tokens"], Float32[np.ndarray, "segments dim"]]:
    """Share of the best segmentations, one per ratio, in which each token ends a segment; and all segments' means.

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


def best_segment_ends(
    vectors: Float[np.ndarray, "tokens dim"], segments: int, allowed: Bool[np.ndarray, " tokens"] | None = None
) -> Int[np.ndarray, " segments"]:
    """The last tokens of so many segments, such that the lengths of the segments' sums add up to the most.

    The sum of vectors that point the same way is as long as all of them together; of others it is shorter. The cut is
    exact, by dynamic programming, in ``O(tokens^2 * segments)``. Where enough tokens are ``allowed`` to end a segment,
    no other one does, but for the last.

    >>> best_segment_ends(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1.0]]), 2).tolist()
    [1, 4]
    """
    lengths = span_lengths(vectors)
    if allowed is not None and allowed[:-1].sum() >= segments - 1:
        lengths[:, 1:-1][:, ~allowed[:-1]] = -np.inf
    best, before = lengths[0], []
    for _ in range(segments - 1):
        totals = best[:, None] + lengths
        before.append(totals.argmax(axis=0))
        best = totals.max(axis=0)
    ends = [len(vectors)]
    for begun in reversed(before):
        ends.append(int(begun[ends[-1]]))
    return np.array(ends[::-1]) - 1


def span_lengths(vectors: Float[np.ndarray, "tokens dim"]) -> Float[np.ndarray, "starts ends"]:
    """The length of the sum of every span ``start:end``; ``-inf`` where there is none.

    >>> span_lengths(np.array([[3.0, 4.0], [3.0, -4.0]])).tolist()
    [[-inf, 5.0, 6.0], [-inf, -inf, 5.0], [-inf, -inf, -inf]]
    """
    prefix = np.concatenate([np.zeros_like(vectors[:1]), vectors.cumsum(axis=0)])
    gram = prefix @ prefix.T
    squares = gram.diagonal()
    lengths = np.sqrt((squares[None, :] + squares[:, None] - 2 * gram).clip(0))
    lengths[np.tril_indices(len(lengths))] = -np.inf
    return lengths
