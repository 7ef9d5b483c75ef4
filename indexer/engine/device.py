"""The scan on a GPU, through torch: segments lie in its memory, every query reads them all."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Lock
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Float64, Int, Int8, Int32, UInt8
from torch import Tensor
from torch.nn import functional

from indexer import kernels
from indexer.arrays import BITS, SENTENCE_STARTS, STRENGTHS
from indexer.engine.executor import AnyQuery, Executor, ExecutorOptions
from indexer.engine.query import Selection
from indexer.engine.scan import CodedQueries, SegmentScan, SpanScan
from indexer.engine.views import Allowed, SegmentView, Views
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.backbones.devices import free_memory, health_of, in_halves, memory_errors, resolve_device, send
from models.errors import DeviceMemoryExhausted

# Up to here float32 holds every whole number.
_WHOLE = 2**24
# Bytes of all arrays of one turn: blocks that are read together.
_TURN_BYTES = 2**28
# Bytes of a segment that are copied to the device at once.
_COPY_BYTES = 2**26

# For every query the best scores of the runs of some blocks, and where they begin.
Runs: TypeAlias = tuple[Float32[np.ndarray, "queries some runs"], Int[np.ndarray, "queries some runs"]]


class DeviceExecutor(Executor):
    """Reads spans on a device of torch's, every segment in full. The processor rescores what may be selected.

    A segment is copied to the device when it is first searched, and stays there as long as it is open. It takes as
    many bytes as on disk.
    """

    name = "device"

    def __init__(self, device: str | torch.device) -> None:
        self._device = torch.device(device)
        self._copied: WeakKeyDictionary[Segment, _Copy] = WeakKeyDictionary()
        self._lock = Lock()

    @classmethod
    def create(cls, options: ExecutorOptions) -> "DeviceExecutor":
        """The executor of the operator's device."""
        return cls(resolve_device(options.device))

    def plan(self, snapshot: Views, query: AnyQuery, selection: Selection) -> AnyQuery:
        """A scan that reads the device's memory."""
        # Always as int8: so dot products are whole numbers, which do not depend on the order of the sums.
        return replace(query, read=self._read, batch_from=1) if isinstance(query, SpanScan) else query

    @property
    def held_segments(self) -> int:
        """The number of segments on the device."""
        return len(self._copied)

    def health(self) -> str | None:
        """The error of a device that takes no data."""
        return health_of(self._device)

    def close(self) -> None:
        """Free the device's memory."""
        with self._lock:
            self._copied.clear()

    @memory_errors()
    @torch.inference_mode()
    def _read(self, view: SegmentView, allowed: Allowed, coded: CodedQueries) -> SegmentScan:
        copy, count = self._copy(view.segment), len(coded.steps)
        exact = np.float32 if 127 * 127 * coded.codes.shape[1] <= _WHOLE else np.float64
        given = coded.codes.T.astype(exact), coded.steps, *coded.terms.rounded()
        queries, steps, *terms = (send(torch.from_numpy(values), self._device) for values in given)
        mask = None if allowed.mask is None else _in_blocks(allowed.mask, len(copy.codes))

        def read(blocks: Int[np.ndarray, " some"]) -> Runs:
            top = copy.best_of_starts(send(torch.from_numpy(blocks), self._device), queries, steps, *terms)
            if mask is not None:
                there = send(torch.from_numpy(mask[blocks]), self._device)
                top = top.masked_fill(~there[..., None], float(kernels.NO_SPAN))
            maxima, at = top.view(len(top), kernels.RUNS, kernels.RUN, count).max(dim=2)
            best, place = (values.permute(2, 0, 1).cpu().numpy() for values in (maxima, at))
            firsts = blocks[:, None] * BLOCK + np.arange(kernels.RUNS) * kernels.RUN
            return best, place + firsts

        empty = np.empty((count, 0, kernels.RUNS), np.float32), np.empty((count, 0, kernels.RUNS), np.int64)
        turns = in_turns(allowed.blocks, copy.blocks_a_turn(queries))
        best, peak = zip(empty, *(runs for turn in turns for runs in in_halves(read, turn)), strict=True)
        peaks = np.minimum(np.concatenate(peak, axis=1), view.segment.manifest.units - 1)
        return SegmentScan.of(view, allowed, np.concatenate(best, axis=1), peaks, coded)

    def _copy(self, segment: Segment) -> "_Copy":
        with self._lock:
            if segment not in self._copied:
                self._copied[segment] = _Copy(segment, self._device)
            return self._copied[segment]


class _Copy:
    """The arrays of a segment on the device, padded to whole blocks and the spans that reach beyond."""

    vectors: Int8[Tensor, "padded dim"]
    scales: Float32[Tensor, " padded"]
    codes: UInt8[Tensor, "blocks lengths {BLOCK}"]
    affine: Float32[Tensor, "blocks lengths 2"]
    borders: Int32[Tensor, " padded_and_one"]

    def __init__(self, segment: Segment, device: torch.device) -> None:
        self.shortest = segment.recipe.bounds.shortest
        blocks, lengths, _ = segment.norm_codes.shape
        self.reach = BLOCK + lengths + self.shortest - 2  # units that the spans of a block touch
        units = blocks * BLOCK + self.reach - BLOCK
        # A segment ends as it begins.
        after = np.repeat(segment.borders[:1], units + 1 - segment.manifest.units)
        borders = np.concatenate([segment.borders, after]).astype(np.int32)
        _check_room(segment, device, borders.nbytes)
        self.codes = _copied(segment.norm_codes, blocks, device)
        self.affine = _copied(segment.norm_affine, blocks, device)
        self.vectors = _copied(segment.vectors, units, device)
        self.scales = _copied(segment.scales, units, device)
        self.borders = _copied(borders, len(borders), device)
        self.sentence_starts = send(torch.from_numpy(SENTENCE_STARTS), device)

    def blocks_a_turn(self, queries: Float[Tensor, "dim queries"]) -> int:
        """The number of blocks whose arrays, on their way to scores of queries, take ``_TURN_BYTES``; at least one."""
        dim, count = queries.shape
        size = queries.element_size()
        of_unit = 2 * 8 + dim * (1 + size) + count * (size + 3 * 8)  # numbers, gathered vectors, prefix sums
        of_start = 2 * 8 + 6 * 4 * count  # scores of one length, and the best
        return max(1, _TURN_BYTES // (self.reach * of_unit + BLOCK * of_start))

    def best_of_starts(
        self,
        blocks: Int[Tensor, " chosen"],
        queries: Float[Tensor, "dim queries"],
        steps: Float32[Tensor, " queries"],
        lengths: Float32[Tensor, "queries lengths"],
        start: Float32[Tensor, " strengths"],
        end: Float32[Tensor, " strengths"],
        crossing: Float32[Tensor, " queries"],
    ) -> Float32[Tensor, "chosen {BLOCK} queries"]:
        """For every start in some blocks, the best approximate score over all lengths."""
        prefix = self._prefix(blocks, queries)
        borders = self.borders[blocks[:, None] * BLOCK + torch.arange(self.reach + 1, device=blocks.device)]
        of_starts, of_ends = start[borders[:, :BLOCK] % STRENGTHS], end[borders >> BITS]
        room = self._room(borders)
        best = torch.full((len(blocks), BLOCK, len(steps)), float(kernels.NO_SPAN), device=steps.device)
        for row in range(self.codes.shape[1]):
            codes, affine = self.codes[blocks, row], self.affine[blocks, row]
            inverse = affine[:, :1] + affine[:, 1:] * codes
            begin = row + self.shortest
            sums = (prefix[:, begin : begin + BLOCK] - prefix[:, :BLOCK]).float() * steps
            added = of_ends[:, begin : begin + BLOCK, None] + lengths[:, begin]
            added = added + (room < begin)[..., None] * crossing
            best = torch.where(codes[..., None] > 0, torch.maximum(best, sums * inverse[..., None] + added), best)
        return best + of_starts[..., None]  # this leaves NO_SPAN as it is

    def _room(self, borders: Int32[Tensor, "chosen bounds"]) -> Int[Tensor, "chosen {BLOCK}"]:
        """For every start the number of units to the end of its sentence, if it is near."""
        places = torch.arange(borders.shape[1], device=borders.device)
        far = places.new_tensor(_WHOLE)
        firsts = torch.where(self.sentence_starts[borders], places, far).flip(1).cummin(dim=1).values.flip(1)
        return firsts[:, 1 : BLOCK + 1] - places[:BLOCK]

    def _prefix(
        self, blocks: Int[Tensor, " chosen"], queries: Float[Tensor, "dim queries"]
    ) -> Float64[Tensor, "chosen bounds queries"]:
        units = blocks[:, None] * BLOCK + torch.arange(self.reach, device=blocks.device)
        dots: Float[Tensor, "chosen reach queries"] = self.vectors[units].to(queries.dtype) @ queries
        # In float64, because a device adds in an order of its own, which no bound on float32 sums foresees.
        sums = (dots.double() * self.scales[units][..., None]).cumsum(dim=1)
        return functional.pad(sums, (0, 0, 1, 0))


def in_turns(blocks: Int[np.ndarray, " chosen"], count: int) -> Iterator[Int[np.ndarray, " _some"]]:
    """At most ``count`` blocks at a time.

    >>> [turn.tolist() for turn in in_turns(np.arange(3), 2)]
    [[0, 1], [2]]
    """
    for begin in range(0, len(blocks), count):
        yield blocks[begin : begin + count]


def _in_blocks(mask: Bool[np.ndarray, " units"], blocks: int) -> Bool[np.ndarray, "blocks {BLOCK}"]:
    return np.pad(mask, (0, blocks * BLOCK - len(mask))).reshape(blocks, BLOCK)


def _check_room(segment: Segment, device: torch.device, borders: int) -> None:
    """Raise ``DeviceMemoryExhausted`` if a segment does not fit on a GPU beside one turn."""
    arrays = segment.norm_codes, segment.norm_affine, segment.vectors, segment.scales
    needed = sum(array.nbytes for array in arrays) + borders + _TURN_BYTES
    if device.type != "cpu" and needed > (free := free_memory(device)):
        raise DeviceMemoryExhausted(
            f"{segment.folder.name} needs {needed / 2**30:.1f} GiB of {device}; {free / 2**30:.1f} GiB are free.",
            hint="Set SPANSEEK_ENGINE=auto, or use a device with more memory.",
        )


def _copied(values: np.ndarray, length: int, device: torch.device) -> Tensor:
    """Rows on the device, padded with zeros to a length, copied a part at a time: the host holds no second copy."""
    first = torch.from_numpy(np.array(values[:1]))
    rows = torch.zeros((length, *values.shape[1:]), dtype=first.dtype, device=device)
    step = max(1, _COPY_BYTES // max(1, first.nbytes))
    for begin in range(0, len(values), step):
        some = torch.from_numpy(np.array(values[begin : begin + step]))
        rows[begin : begin + len(some)].copy_(some)
    return rows
