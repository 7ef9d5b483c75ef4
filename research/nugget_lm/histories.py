"""Vectors that stand for each segment of a text: its nuggets, or one vector, the mean of its token vectors.

Both are of a frozen encoder, so that they are computed once and kept in a file.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from safetensors.numpy import load_file, save_file
from torch import Tensor

from models.atomic import replacing
from models.encoders.nuggets.base import NuggetEncoder
from models.errors import InvalidInput
from models.ops.similarity import normalize
from research.nugget_lm.segments import Segments

Kind: TypeAlias = Literal["nuggets", "mean"]
KINDS: tuple[Kind, ...] = ("nuggets", "mean")
_BATCH = 32

# Vectors, and the tokens they are at.
Rows: TypeAlias = tuple[Float32[np.ndarray, "_rows dim"], Int[np.ndarray, " _rows"]]


@dataclass(frozen=True, slots=True)
class Histories:
    """The vectors of segment ``s`` are ``vectors[bounds[s]:bounds[s + 1]]``, at ``tokens`` of it, all of length 1.

    A mean has no token: ``tokens`` then says -1.
    """

    vectors: Float32[np.ndarray, "rows dim"]
    bounds: Int[np.ndarray, " segments_and_one"]
    tokens: Int[np.ndarray, " rows"]

    def of(self, segment: int) -> Float32[np.ndarray, "_rows dim"]:
        """The vectors of one segment."""
        return self.vectors[self.bounds[segment] : self.bounds[segment + 1]]

    def places(self, segment: int) -> Int[np.ndarray, " _rows"]:
        """The tokens of one segment that its vectors are at."""
        return self.tokens[self.bounds[segment] : self.bounds[segment + 1]]


@dataclass(frozen=True, slots=True)
class Read:
    """Vectors that a batch may look at, padded.

    ``ages`` say how many segments ago each was read (0: the text itself), ``places`` at which token of its segment it
    is (-1: a mean, which is at none).
    """

    vectors: Float[Tensor, "texts rows dim"]
    ages: Int[Tensor, "texts rows"]
    places: Int[Tensor, "texts rows"]
    real: Bool[Tensor, "texts rows"]

    def to(self, device: torch.device) -> "Read":
        """The same on a device."""
        return Read(*(getattr(self, name).to(device) for name in Read.__slots__))


def kind_named(name: str) -> Kind:
    """Return the kind of vectors for a segment, by its name. Raises ``InvalidInput`` where there is none of this name.

    >>> kind_named("mean")
    'mean'
    """
    if name not in KINDS:
        raise InvalidInput(f"{name!r} cannot stand for a segment.", hint=f"What can: {', '.join(KINDS)}.", field="kind")
    return name


def read_histories(encoder: NuggetEncoder, segments: Segments, ratios: Sequence[float]) -> dict[Kind, Histories]:
    """Encode every segment on its own, and keep its nuggets and its mean; the ratios take turns."""
    read = dict(chain.from_iterable(_read(encoder, segments, ratios, turn) for turn in range(len(ratios))))
    nuggets = [read[number][0] for number in range(len(segments))]
    means = [read[number][1] for number in range(len(segments))]
    return {"nuggets": _together(nuggets, encoder.dim), "mean": _together(means, encoder.base.dim)}


def kept_histories(
    encoder: NuggetEncoder, segments: Segments, ratios: Sequence[float], folder: Path
) -> dict[Kind, Histories]:
    """As :func:`read_histories`, from a file of the folder where the same was read before."""
    path = folder / f"segments-{_digest(encoder, segments, ratios)}.safetensors"
    if not path.is_file():
        histories = read_histories(encoder, segments, ratios)
        arrays = {f"{kind}/{name}": getattr(histories[kind], name) for kind in KINDS for name in Histories.__slots__}
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            save_file({name: _half(array) for name, array in arrays.items()}, partial)
    arrays = load_file(path)
    return {kind: Histories(*(_whole(arrays[f"{kind}/{name}"]) for name in Histories.__slots__)) for kind in KINDS}


def gather(histories: Histories, segments: Sequence[Sequence[int]], now: Sequence[int]) -> Read:
    """The vectors of some segments for every text of a batch, whose own segment is ``now``.

    >>> histories = Histories(np.eye(3, dtype=np.float32), np.array([0, 2, 3]), np.array([1, 3, 0]))
    >>> read = gather(histories, [[0, 1], []], [2, 0])
    >>> read.vectors.shape, read.ages.tolist(), read.real.tolist()
    (torch.Size([2, 3, 3]), [[2, 2, 1], [0, 0, 0]], [[True, True, True], [False, False, False]])
    >>> read.places.tolist()
    [[1, 3, 0], [-1, -1, -1]]
    """
    rows = [[histories.of(segment) for segment in of_row] for of_row in segments]
    counts = [[len(vectors) for vectors in row] for row in rows]
    real = np.arange(max(sum(row) for row in counts)) < np.array([sum(row) for row in counts])[:, None]
    vectors = np.zeros((*real.shape, histories.vectors.shape[1]), np.float32)
    ages, places = np.zeros(real.shape, np.int64), np.full(real.shape, -1)
    vectors[real] = np.concatenate([histories.vectors[:0], *(part for row in rows for part in row)])
    ages[real] = [
        at - segment
        for at, of_row, row in zip(now, segments, counts, strict=True)
        for segment, count in zip(of_row, row, strict=True)
        for _ in range(count)
    ]
    places[real] = np.concatenate(
        [histories.tokens[:0], *(histories.places(segment) for of_row in segments for segment in of_row)]
    )
    return Read(*(torch.from_numpy(array) for array in (vectors, ages, places, real)))


def _read(
    encoder: NuggetEncoder, segments: Segments, ratios: Sequence[float], turn: int
) -> Iterator[tuple[int, tuple[Rows, Rows]]]:
    """The nuggets and the mean of every segment whose turn it is, by its number."""
    # Windows of like length share a pass.
    numbers = sorted(range(turn, len(segments), len(ratios)), key=lambda number: len(segments.windows[number]))
    batches = [numbers[begin : begin + _BATCH] for begin in range(0, len(numbers), _BATCH)]
    outputs = encoder.forward(([segments.windows[number] for number in batch] for batch in batches), ratios[turn])
    for batch, read in zip(batches, outputs, strict=True):
        for number, (vectors, nuggets) in zip(batch, read, strict=True):
            mean = normalize(vectors.mean(axis=0, keepdims=True)).astype(np.float32)
            yield number, ((nuggets.vectors, nuggets.tokens), (mean, np.full(1, -1)))


def _together(parts: Sequence[Rows], dim: int) -> Histories:
    bounds = np.cumsum([0, *(len(vectors) for vectors, _ in parts)])
    vectors = np.concatenate([np.zeros((0, dim), np.float32), *(vectors for vectors, _ in parts)])
    return Histories(vectors, bounds, np.concatenate([np.zeros(0, np.int64), *(tokens for _, tokens in parts)]))


def _half(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16) if array.dtype == np.float32 else array


def _whole(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _digest(encoder: NuggetEncoder, segments: Segments, ratios: Sequence[float]) -> str:
    facts = [encoder.fingerprint, encoder.base.fingerprint, list(ratios), [len(window) for window in segments.windows]]
    digest = hashlib.sha256(json.dumps(facts).encode())
    for window in segments.windows:
        digest.update(window.tobytes())
    return digest.hexdigest()[:24]
