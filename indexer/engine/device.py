"""The scan on a GPU, through torch: segments lie in its memory, every query reads them all."""

from dataclasses import replace
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int, Int8, Int32, UInt8
from torch import Tensor
from torch.nn import functional

from indexer import kernels
from indexer.arrays import BITS, SENTENCE_STARTS, STRENGTHS
from indexer.engine.executor import AnyQuery, Executor, ExecutorOptions
from indexer.engine.query import Selection
from indexer.engine.scan import CodedQueries, SegmentScan, SpanScan
from indexer.engine.snapshot import Allowed, SegmentView, Snapshot
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.backbones.torch_network import resolve_device

# Up to here float32 holds every whole number.
_WHOLE = 2**24
# Numbers of eight bytes that the prefix sums of one turn may take.
_AT_ONCE = 2**25


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

    def plan(self, snapshot: Snapshot, query: AnyQuery, selection: Selection) -> AnyQuery:
        """A scan that reads the device's memory."""
        # Always as int8: so dot products are whole numbers, which do not depend on the order of the sums.
        return replace(query, read=self._read, batch_from=1) if isinstance(query, SpanScan) else query

    @property
    def held_segments(self) -> int:
        """The number of segments on the device."""
        return len(self._copied)

    def health(self) -> str | None:
        """The error of a device that takes no data."""
        try:
            torch.zeros(1, device=self._device).item()
        except RuntimeError as error:
            return f"The device {self._device} does not answer: {str(error).splitlines()[0]}."
        return None

    def close(self) -> None:
        """Free the device's memory."""
        with self._lock:
            self._copied.clear()

    @torch.inference_mode()
    def _read(self, view: SegmentView, allowed: Allowed, coded: CodedQueries) -> SegmentScan:
        copy = self._copy(view.segment)
        exact = np.float32 if 127 * 127 * coded.codes.shape[1] <= _WHOLE else np.float64
        queries = torch.from_numpy(coded.codes.T.astype(exact)).to(self._device)
        steps = torch.from_numpy(coded.steps).to(self._device)
        terms = [torch.from_numpy(values).to(self._device) for values in coded.terms.rounded()]
        blocks = torch.from_numpy(allowed.blocks).to(self._device)
        mask = None if allowed.mask is None else _padded(torch.from_numpy(allowed.mask), len(copy.codes) * BLOCK)
        best = np.empty((len(steps), len(blocks), kernels.RUNS), np.float32)
        peak = np.empty(best.shape, np.int64)
        turn = max(1, _AT_ONCE // (copy.reach * max(1, len(steps))))
        for begin in range(0, len(blocks), turn):
            part = slice(begin, begin + turn)
            top = copy.best_of_starts(blocks[part], queries, steps, *terms)
            if mask is not None:
                there = mask.to(self._device).view(-1, BLOCK)[blocks[part]]
                top = top.masked_fill(~there[..., None], float(kernels.NO_SPAN))
            maxima, at = top.view(len(top), kernels.RUNS, kernels.RUN, len(steps)).max(dim=2)
            firsts = blocks[part, None] * BLOCK + torch.arange(kernels.RUNS, device=self._device) * kernels.RUN
            best[:, part] = maxima.permute(2, 0, 1).cpu().numpy()
            peak[:, part] = (at + firsts[..., None]).permute(2, 0, 1).cpu().numpy()
        return SegmentScan.of(view, allowed, best, np.minimum(peak, view.segment.manifest.units - 1), coded)

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
        self.codes = torch.from_numpy(np.array(segment.norm_codes)).to(device)
        self.affine = torch.from_numpy(np.array(segment.norm_affine)).to(device)
        self.reach = BLOCK + self.codes.shape[1] + self.shortest - 2  # units that the spans of a block touch
        units = len(self.codes) * BLOCK + self.reach - BLOCK
        self.vectors = _padded(torch.from_numpy(np.array(segment.vectors)), units).to(device)
        self.scales = _padded(torch.from_numpy(np.array(segment.scales)), units).to(device)
        # A segment ends as it begins.
        after = np.repeat(segment.borders[:1], units + 1 - segment.manifest.units)
        self.borders = torch.from_numpy(np.concatenate([segment.borders, after]).astype(np.int32)).to(device)
        self.sentence_starts = torch.from_numpy(SENTENCE_STARTS).to(device)

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


def _padded(values: Tensor, length: int) -> Tensor:
    return functional.pad(values, (0, 0) * (values.dim() - 1) + (0, length - len(values)))
