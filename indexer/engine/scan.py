"""The scan: every span of every segment, at the speed of memory, exact (design, section 5).

Three steps. The kernels give the best approximate cosine of every run of starts, with a bound on its error. From
these a floor follows that the wanted spans cannot lie under. Only spans that may lie above it are scored exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int, Int16

from indexer.engine import kernels
from indexer.engine.base import ScoredSpan
from indexer.engine.selection import ExactSpans, choose
from indexer.engine.snapshot import Allowed, SegmentView, Snapshot
from indexer.engine.wanted import Selection
from indexer.segments.layout import BLOCK
from models.types import QueryVectors

# Largest component of an int16 query; less where a dot product with so many int8 components could overflow int32.
_QUERY_STEPS = 8191
# What is left of rounding errors beside those that ``norm_errors`` bounds.
_ROUNDING = 1e-5


@dataclass(frozen=True, slots=True)
class CodedQueries:
    """Queries as the kernels read them. ``slack`` bounds the error that this puts into any cosine."""

    codes: Int16[np.ndarray, "queries dim"]
    steps: Float32[np.ndarray, " queries"]
    slack: Float[np.ndarray, " queries"]


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """The runs of one segment for one query: their best approximate cosines, where, and how far they may be off."""

    view: SegmentView
    allowed: Allowed
    best: Float32[np.ndarray, "chosen runs"]
    peak: Int[np.ndarray, "chosen runs"]
    error: Float[np.ndarray, " chosen"]

    @property
    def lower(self) -> Float[np.ndarray, " all_runs"]:
        """What the best span of every run scores at least; -inf where a run has no span."""
        sure = np.where(self.best > kernels.NO_SPAN, self.best - self.error[:, None], -np.inf)
        return sure.reshape(-1)


class ScanEngine:
    """Exact search by a full scan; memory bandwidth is its limit."""

    name = "scan"

    def search(self, snapshot: Snapshot, queries: QueryVectors, wanted: Selection) -> list[list[ScoredSpan]]:
        """For every unit-length query its wanted spans, best first. One pass over memory serves all queries."""
        coded = code_queries(queries)
        scans = [list(_scan(view, coded, wanted)) for view in snapshot.views]
        return [
            _search_one(query, coded, number, [scan[number] for scan in scans], wanted)
            for number, query in enumerate(queries)
        ]


def code_queries(queries: QueryVectors) -> CodedQueries:
    """Queries as int16. By Cauchy and Schwarz no cosine moves by more than the length of the rounding error."""
    largest = np.abs(queries).max(axis=1, initial=0)
    most = min(_QUERY_STEPS, (2**31 - 1) // (127 * queries.shape[1]))
    steps = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(most)
    codes = np.rint(queries / steps[:, None]).astype(np.int16)
    slack = np.linalg.norm(queries - codes * steps[:, None].astype(np.float64), axis=1)
    return CodedQueries(codes, steps, slack)


def _scan(view: SegmentView, coded: CodedQueries, wanted: Selection) -> Iterator[SegmentScan]:
    segment, allowed = view.segment, view.allowed(wanted.filter)
    best, peak = kernels.scan(
        segment.vectors,
        segment.scales,
        segment.norm_codes,
        segment.norm_affine,
        segment.recipe.bounds.shortest,
        coded.codes,
        coded.steps,
        allowed.blocks,
        allowed.mask,
    )
    errors = segment.norm_errors[allowed.blocks].astype(np.float64) + _ROUNDING
    for query, slack in enumerate(coded.slack):
        yield SegmentScan(view, allowed, best[query], peak[query], errors * (1 + slack) + slack)


def _search_one(
    query: Float32[np.ndarray, " dim"],
    coded: CodedQueries,
    number: int,
    scans: list[SegmentScan],
    wanted: Selection,
) -> list[ScoredSpan]:
    floor = max(_floor(scans, wanted), -np.inf if wanted.floor is None else wanted.floor)
    code, step = coded.codes[number], coded.steps[number]
    return choose([_exact(scan, query, code, step, floor) for scan in scans], wanted)


def _floor(scans: list[SegmentScan], wanted: Selection) -> float:
    """A cosine that the last of the wanted spans reaches for certain; -inf where there may be too few."""
    if wanted.group_by == "span":
        return _floor_of_spans(scans, wanted.top_k)
    lower, groups = [], []
    for number, scan in enumerate(scans):
        segment = scan.view.segment
        part = np.searchsorted(segment.part_units, scan.peak.reshape(-1), side="right") - 1
        group = segment.part_document[part] if wanted.group_by == "document" else part
        lower.append(scan.lower)
        groups.append(np.stack([np.full_like(group, number), group]))
    return _kth_group(np.concatenate(lower), np.concatenate(groups, axis=1), wanted.top_k) if scans else -np.inf


def _kth_group(lower: Float[np.ndarray, " runs"], groups: Int[np.ndarray, "2 runs"], k: int) -> float:
    """The k-th largest of the groups' best lower bounds."""
    order = np.argsort(-lower, kind="stable")
    firsts = np.unique(groups[:, order], axis=1, return_index=True)[1]
    return _kth_largest(lower[order[firsts]], k)


def _floor_of_spans(scans: list[SegmentScan], k: int) -> float:
    """As :func:`_floor` for non-overlapping spans.

    Take every ``stride``-th run only. The best spans of any two of these lie so far apart that no span overlaps both;
    so each is a survivor of the suppression, or has been displaced by a survivor of its own that scores higher.
    """
    if not scans:
        return -np.inf
    longest = scans[0].view.segment.recipe.bounds.longest
    stride = 1 + -(-(2 * longest - 2) // kernels.RUN)
    floors = []
    for offset in range(stride):
        lower = [scan.lower[_run_numbers(scan) % stride == offset] for scan in scans]
        floors.append(_kth_largest(np.concatenate(lower), k))
    return max(floors)


def _run_numbers(scan: SegmentScan) -> Int[np.ndarray, " all_runs"]:
    return (scan.allowed.blocks[:, None] * kernels.RUNS + np.arange(kernels.RUNS)).reshape(-1)


def _kth_largest(values: Float[np.ndarray, " values"], k: int) -> float:
    return float(np.partition(values, len(values) - k)[len(values) - k]) if 0 < k <= len(values) else -np.inf


def _exact(
    scan: SegmentScan,
    query: Float32[np.ndarray, " dim"],
    code: Int16[np.ndarray, " dim"],
    step: np.float32,
    floor: float,
) -> ExactSpans:
    """Every span of a segment that may reach the floor, with its exact cosine."""
    segment = scan.view.segment
    reach = scan.best.max(axis=1, initial=kernels.NO_SPAN) + scan.error
    rows = np.flatnonzero((reach >= floor) & (scan.best > kernels.NO_SPAN).any(axis=1))
    spans = [_candidates(scan, int(row), code, step, floor) for row in rows]
    starts, ends = np.concatenate([np.zeros((2, 0), np.int64), *spans], axis=1)
    cosines = kernels.rescore(segment.vectors, segment.scales, starts, ends, query.astype(np.float32))
    return ExactSpans(scan.view, starts, ends, cosines)


def _candidates(
    scan: SegmentScan, row: int, code: Int16[np.ndarray, " dim"], step: np.float32, floor: float
) -> Int[np.ndarray, "2 spans"]:
    """Starts and ends of the spans of one block whose approximate cosine may reach the floor."""
    segment, block = scan.view.segment, int(scan.allowed.blocks[row])
    begin, shortest = block * BLOCK, segment.recipe.bounds.shortest
    codes, affine = segment.norm_codes[block], segment.norm_affine[block]
    scores = kernels.block_cosines(segment.vectors, segment.scales, codes, affine, shortest, code, step, begin)
    if scan.allowed.mask is not None:
        mask = scan.allowed.mask[begin : begin + BLOCK]
        scores[:, : len(mask)][:, ~mask] = kernels.NO_SPAN
    length, start = np.nonzero((scores > kernels.NO_SPAN) & (scores + scan.error[row] >= floor))
    return np.stack([begin + start, begin + start + length + shortest])
