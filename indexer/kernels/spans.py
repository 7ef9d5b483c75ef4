"""The spans of given runs whose approximate scores reach a floor."""

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int, Int16, Int32
from numba import njit, prange

from indexer.arrays import BITS, SegmentArrays, SpanTerms
from indexer.kernels.common import FAST, NO_SPAN, RUN, RUNS, one_at_a_time, threads_for
from indexer.kernels.single import border_values, numerators, room_in_sentences, units_ahead

# Runs that one pass gathers spans of: memory is allocated for all their spans.
_RUNS_A_PASS = 512


@njit(fastmath=FAST, cache=True)
def run_scores(
    segment: SegmentArrays,
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    terms: SpanTerms,
    owner: int,
    run: int,
) -> Float32[np.ndarray, "lengths run"]:
    """Approximate scores of all spans that start in a run, counted from the segment's first; else ``NO_SPAN``.

    ``owner`` is the query's row of the terms.
    """
    block, offset = run // RUNS, run % RUNS * RUN
    lengths, shortest, begin = segment.norm_codes.shape[1], segment.shortest, run * RUN
    end = min(len(segment.vectors), begin + RUN + units_ahead(segment))
    scores = np.full((lengths, RUN), NO_SPAN, np.float32)
    if begin >= end:
        return scores
    prefix = np.empty(RUN + lengths + shortest - 1, np.float32)
    numerators(segment.vectors[begin:end], segment.scales[begin:end], query, step, prefix)
    starts = prefix[:RUN]
    of_starts, of_ends = np.empty(RUN, np.float32), np.empty(len(prefix), np.float32)
    border_values(segment.borders, 0, terms.start, begin, of_starts)
    border_values(segment.borders, BITS, terms.end, begin, of_ends)
    room = np.empty(RUN, np.int32)
    room_in_sentences(segment.borders, begin, units_ahead(segment), room)
    for row in range(lengths):
        low, size = segment.norm_affine[block, row, 0], segment.norm_affine[block, row, 1]
        ends = prefix[row + shortest : row + shortest + RUN]
        code = segment.norm_codes[block, row, offset : offset + RUN]
        of_length = terms.lengths[owner, row + shortest]
        for i in range(RUN):
            cosine = (ends[i] - starts[i]) * (low + size * np.float32(code[i]))
            crossing = terms.crossing[owner] if room[i] < row + shortest else np.float32(0)
            score = cosine + (of_length + of_ends[row + shortest + i] + of_starts[i] + crossing)
            scores[row, i] = score if code[i] > 0 else NO_SPAN
    return scores


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _spans_above(segment, queries, steps, terms, owners, runs, floors, masked, mask, spans):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(runs), np.int64)
    for position in prange(len(runs)):
        owner, begin = owners[position], runs[position] * RUN
        scores = run_scores(segment, queries[owner], steps[owner], terms, owner, runs[position])
        for i in range(RUN):
            if masked and not (begin + i < len(mask) and mask[begin + i]):
                continue
            for row in range(len(scores)):
                if scores[row, i] > NO_SPAN and scores[row, i] >= floors[position]:
                    spans[position, counts[position], 0] = begin + i
                    spans[position, counts[position], 1] = begin + i + row + segment.shortest
                    counts[position] += 1
    return counts


@one_at_a_time
def spans_above(
    segment: SegmentArrays,
    queries: Int16[np.ndarray, "queries dim"],
    steps: Float32[np.ndarray, " queries"],
    terms: SpanTerms,
    owners: Int[np.ndarray, " chosen"],
    runs: Int[np.ndarray, " chosen"],
    floors: Float64[np.ndarray, " chosen"],
    mask: Bool[np.ndarray, " units"] | None,
) -> tuple[Int[np.ndarray, " spans"], Int32[np.ndarray, "spans 2"]]:
    """Start and end of every span of the chosen runs whose approximate score reaches the run's floor.

    ``owners`` is the query of every run; with the spans, in the same order, come their queries.
    """
    everything = mask if mask is not None else np.empty(0, np.bool_)
    rounded = terms.rounded()
    span_owners, spans = [np.empty(0, owners.dtype)], [np.empty((0, 2), np.int32)]
    for begin in range(0, len(runs), _RUNS_A_PASS):
        part = slice(begin, begin + _RUNS_A_PASS)
        buffer = np.empty((len(runs[part]), RUN * segment.norm_codes.shape[1], 2), np.int32)
        with threads_for(len(buffer) * RUN):
            counts = _spans_above(
                segment,
                queries,
                steps,
                rounded,
                owners[part],
                runs[part],
                floors[part],
                mask is not None,
                everything,
                buffer,
            )
        spans += [of_run[:count] for of_run, count in zip(buffer, counts.tolist(), strict=True)]
        span_owners.append(np.repeat(owners[part], counts))
    return np.concatenate(span_owners), np.concatenate(spans)
