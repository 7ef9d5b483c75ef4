"""The executor ``faiss_gpu``: FAISS looks up on a GPU what the processor then scores exactly.

Small collections have the vector of every span there. Of large ones it has the windows, and of those with nuggets the
nuggets, in the lists of the segment's index. What does not fit is read by the processor.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import cast
from weakref import WeakKeyDictionary

import faiss
import numpy as np
import torch
from jaxtyping import Float32, Int8, UInt8

from indexer import kernels
from indexer.ann.candidates import CandidateExecutor, Indexed, NearSpans
from indexer.ann.gpu import FLAT_ROWS, MOST, ROUNDING, Found, GpuRows, GpuWindows, Rows, Shards
from indexer.ann.inverted_lists import gpu_resources, open_index
from indexer.ann.row_index import RowIndex, directions_of
from indexer.ann.windows import WindowIndex, directions, window_spans
from indexer.arrays import SpanTerms
from indexer.engine.executor import AnyQuery, ExecutorOptions, SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows
from indexer.engine.scan import SpanScan
from indexer.engine.selection import selected_rows
from indexer.engine.views import SegmentView, Views
from indexer.segments import layout
from indexer.segments.reader import Segment
from models.backbones.devices import health_of, resolve_device
from models.errors import DeviceUnavailable
from models.ops.quantization import dequantize
from models.ops.similarity import normalize
from models.ops.spans import has_direction, span_sums

# Units whose spans are made at once.
_UNITS_AT_ONCE = 2_048
# An id has the first unit of a span, and in these bits its length.
_LENGTH_BITS = 8

_log = logging.getLogger(__name__)


class FaissGpuExecutor(CandidateExecutor):
    """Searches as ``candidates`` does, with the looking up on a GPU; small collections exactly, by all their spans."""

    name = "faiss_gpu"

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device
        self._resources = gpu_resources()
        self._held: WeakKeyDictionary[Segment, dict[str, Shards | None]] = WeakKeyDictionary()
        self._lock, self._searching = Lock(), Lock()

    @classmethod
    def create(cls, options: ExecutorOptions) -> "FaissGpuExecutor":
        """The executor of the operator's device. Raises ``DeviceUnavailable`` without a GPU that FAISS can use."""
        device = resolve_device(options.device)
        if device.index is None or device.index >= faiss.get_num_gpus():
            raise DeviceUnavailable(
                f"FAISS cannot use {device} for the engine faiss_gpu.",
                hint="Install the extra gpu, not cpu, and set SPANSEEK_DEVICE to a GPU; or choose another engine.",
                field="engine",
            )
        return cls(device)

    def plan(self, snapshot: Views, query: AnyQuery, selection: Selection) -> AnyQuery:
        """What ``candidates`` plans, looked up on the GPU; a scan becomes a search among all spans."""
        planned = super().plan(snapshot, query, selection)
        if isinstance(planned, SpanScan):
            return _FlatScan(planned, self._open_spans)
        if isinstance(planned, NearSpans):
            return replace(planned, open_windows=self._open_windows)
        return planned.looked_up_by(self._open_rows) if isinstance(planned, Indexed) else planned

    @property
    def held_segments(self) -> int:
        """The number of segments on the GPU."""
        return len(self._held)

    def health(self) -> str | None:
        """The error of a GPU that takes no data."""
        return health_of(self._device)

    def close(self) -> None:
        """Free the memory of the GPU."""
        with self._lock:
            self._held.clear()

    def _open_spans(self, view: SegmentView) -> Shards | None:
        dim, count = view.segment.recipe.dim, count_spans(view)
        needed = 2 * dim * (count + min(count, FLAT_ROWS))
        return self._shards(view.segment, "spans", needed, lambda to: to.add_flat(dim, span_directions(view.segment)))

    def _open_windows(self, segment: Segment) -> WindowIndex:
        stored = cast("faiss.IndexIVF", open_index(segment, layout.WINDOWS, segment.windows))
        spans = window_spans(segment.part_units, segment.recipe.bounds)
        rows = partial(directions, segment.vectors, segment.scales, spans)
        shards = self._shards(segment, layout.WINDOWS, _bytes_of(stored), lambda to: to.add_lists(stored, rows()))
        return GpuWindows(stored, shards) if shards else WindowIndex(stored)

    def _open_rows(
        self,
        segment: Segment,
        name: str,
        content: UInt8[np.ndarray, " bytes"],
        codes: Int8[np.ndarray, "rows dim"],
        scales: Float32[np.ndarray, " rows"],
    ) -> RowIndex:
        stored, rows = open_index(segment, name, content), partial(directions_of, codes, scales)
        shards = self._shards(segment, name, _bytes_of(stored), lambda to: to.add_lists(stored, rows()))
        return GpuRows(stored, shards) if shards else RowIndex(stored)

    def _shards(self, segment: Segment, name: str, needed: int, fill: Callable[[Shards], Shards]) -> Shards | None:
        """The rows of a segment on the GPU, copied there at first; None if they do not fit."""
        with self._lock:
            held = self._held.setdefault(segment, {})
            if name not in held:
                free, _ = torch.cuda.mem_get_info(self._device)
                try:
                    empty = Shards(self._resources, self._device.index, self._searching)
                    held[name] = fill(empty) if needed <= free else None
                except RuntimeError as error:
                    _log.warning("FAISS cannot copy %s of %s: %s", name, segment.folder.name, error)
                    held[name] = None
                if held[name] is None:
                    _log.warning("The processor reads %s of %s (%d bytes).", name, segment.folder.name, needed)
            return held[name]


@dataclass(frozen=True, slots=True)
class _FlatScan(SegmentQuery[None, list[SpanRows]]):
    """The best spans among the nearest of a GPU, with exact scores; where these may not do, a scan of the segment."""

    scan: SpanScan
    spans: Callable[[SegmentView], Shards | None]

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """For every query the spans of a segment that may be selected."""
        shards, allowed = self.spans(view), view.allowed(selection.filter)
        found = shards.search(self.scan.vectors, MOST) if shards else None
        rows: list[SpanRows] = []
        for query in range(len(self.scan.vectors)):
            scan = self.scan.take(query)
            near = None if found is None else _selectable(view, found, query, scan, selection)
            rows += scan.within(view, allowed, selection) if near is None else [near]
        return rows


def _selectable(view: SegmentView, found: Found, query: int, scan: SpanScan, selection: Selection) -> SpanRows | None:
    """The spans found for a query, with exact scores; None if another one may be selected, too."""
    terms = SpanTerms.none(1) if scan.terms is None else scan.terms
    mask = view.allowed(selection.filter).mask
    ids = found.ids[query][found.ids[query] >= 0]
    starts, lengths = ids >> _LENGTH_BITS, ids & (1 << _LENGTH_BITS) - 1
    if mask is not None:
        starts, lengths = starts[mask[starts]], lengths[mask[starts]]
    scores = kernels.rescore(
        view.segment.arrays, starts, starts + lengths, scan.vectors, np.zeros(len(starts), np.int64), terms
    )
    floor = scan.floor(selection)
    others = float(found.last[query] + terms.highest[0]) + ROUNDING  # no other span scores higher
    rows = SpanRows(view.name, starts, starts + lengths, scores).take(scores >= floor)
    chosen = rows.cosines[selected_rows(view.segment, rows, selection)]
    is_enough = others < floor or (len(chosen) >= selection.top_k and chosen[selection.top_k - 1] > others)
    return rows if is_enough else None


def count_spans(view: SegmentView) -> int:
    """The number of spans of a segment."""
    sizes, bounds = view.part_sizes, view.segment.recipe.bounds
    return int(sum(np.maximum(sizes - length + 1, 0).sum() for length in bounds.lengths))


def span_directions(segment: Segment) -> Iterator[Rows]:
    """Ids and vectors of all spans of a segment, without those whose vectors cancel out."""
    bounds, units = segment.recipe.bounds, segment.manifest.units
    part_ends = np.repeat(segment.part_units[1:], np.diff(segment.part_units))
    lengths = np.arange(bounds.shortest, bounds.longest + 1)
    for begin in range(0, units, _UNITS_AT_ONCE):
        seen = slice(begin, min(begin + _UNITS_AT_ONCE + bounds.longest, units))
        vectors = dequantize(segment.vectors[seen], segment.scales[seen])
        starts = np.arange(begin, min(begin + _UNITS_AT_ONCE, units))
        rows, columns = np.nonzero(starts[:, None] + lengths <= part_ends[starts, None])
        spans = np.stack([starts[rows], starts[rows] + lengths[columns]], axis=1)
        sums = span_sums(vectors, spans - begin)
        real = has_direction(vectors, spans - begin, sums)
        ids = spans[:, 0] << _LENGTH_BITS | lengths[columns]
        yield ids[real], normalize(sums[real]).astype(np.float32)


def _bytes_of(stored: faiss.Index) -> int:
    """What the rows of an index take on a GPU as numbers of 16 bits, with the room in lists that FAISS keeps free."""
    return int(3 * stored.d * stored.ntotal)
