"""Kernels against loops: inverse norms and approximate scores within their reported error, exact cosines exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from indexer import kernels
from indexer.arrays import SegmentArrays, SpanTerms
from indexer.engine.scan import code_queries
from indexer.kernels import intrinsics, single
from indexer.kernels.batch import pack
from indexer.segments.layout import BLOCK
from models.kernels import llvm
from models.ops.quantization import dequantize, quantize
from models.ops.span_score import SpanScore
from models.ops.spans import enumerate_spans, has_direction, span_cosines, span_sums
from models.types import SpanBounds
from tests import reference
from tests.examples import examples

KINDS = ["random", "drift", "sizes", "zero", "cancel", "giant"]


def vectors_of(kind: str, size: int, dim: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, dim)) + (3 if kind == "drift" else 0)
    if kind == "sizes":
        vectors *= 10.0 ** rng.integers(-5, 6, (size, 1))
    elif kind == "zero":
        vectors[rng.random(size) < 0.6] = 0
    elif kind == "cancel":
        vectors[1::2] = -vectors[: size - 1 : 2][: len(vectors[1::2])]
    elif kind == "giant" and size:
        vectors[size // 2] *= 1e6
    return vectors.astype(np.float32)


def borders_of(units: int) -> np.ndarray:
    """Codes of borders, two strengths each, drawn at random; the first is a part's."""
    starts, ends = np.random.default_rng(units).integers(0, 6, (2, units)).astype(np.uint8)
    borders = (starts | ends << 4) * (np.random.default_rng(units + 1).random(units) < 0.3)
    borders[:1] = 0x55
    return borders


def terms_of(queries: int) -> SpanTerms:
    """Terms of queries of different lengths, which are as large as the differences of cosines."""
    score = SpanScore(0.2, (-0.3, -0.2, -0.1, 0.0, -0.07, 0.0), (-0.21, 0.0, -0.11, -0.05, 0.0, -0.4), -0.35)
    return SpanTerms.of(score, np.arange(queries) * 7 % 30)


def block_scores(stored: SegmentArrays, query, step, block: int, terms: SpanTerms, owner: int = 0) -> np.ndarray:
    """Approximate scores of all spans that start in a block."""
    runs = range(block * kernels.RUNS, (block + 1) * kernels.RUNS)
    return np.concatenate(
        [kernels.run_scores(stored, query, step, terms.rounded(), owner, run) for run in runs], axis=1
    )


def unit_length(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def room_of(parts: list[int]) -> np.ndarray:
    return np.array([size - at for size in parts for at in range(size)], np.int32)


def rescore(
    codes: np.ndarray, scales: np.ndarray, starts: np.ndarray, ends: np.ndarray, query: np.ndarray
) -> np.ndarray:
    stored = SegmentArrays(
        codes,
        scales,
        np.empty((0, 1, BLOCK), np.uint8),
        np.empty((0, 1, 2), np.float32),
        1,
        borders_of(len(codes)),
    )
    return kernels.rescore(stored, starts, ends, query[None], np.zeros(len(starts), np.int64))


@settings(max_examples=examples(40))
@given(
    st.lists(st.integers(0, 200), max_size=4),
    st.sampled_from([(1, 20), (3, 3), (1, 64), (5, 9)]),
    st.sampled_from(KINDS),
    st.one_of(st.integers(1, 12), st.sampled_from([64, 128])),
    st.integers(0, 2**32 - 1),
)
def test_codes_and_bounds(parts: list[int], bounds: tuple[int, int], kind: str, dim: int, seed: int) -> None:
    """The scan may be off by its reported error and no more, on whatever vectors."""
    units = sum(parts)
    codes, scales = quantize(vectors_of(kind, units, dim, seed))
    stored = dequantize(codes, scales).astype(np.float64)
    room = room_of(parts)
    norm_codes, affine, errors = kernels.inverse_norms(codes, scales, room, *bounds)
    assert norm_codes.shape == (-(-units // BLOCK), bounds[1] - bounds[0] + 1, BLOCK)
    query = np.random.default_rng(seed + 1).normal(size=dim)
    query = (query / np.linalg.norm(query)).astype(np.float32)
    terms = terms_of(9).take(slice(8, 9))
    coded = code_queries(query[None], terms=terms)
    prefix = np.concatenate([np.zeros((1, dim)), np.cumsum(stored, axis=0)])
    mass = np.concatenate([[0], np.cumsum((stored**2).sum(axis=1))])
    segment = SegmentArrays(codes, scales, norm_codes, affine, bounds[0], borders_of(len(codes)))
    for block in range(len(norm_codes)):
        scores = block_scores(segment, coded.codes[0], coded.steps[0], block, terms)
        for row in range(bounds[1] - bounds[0] + 1):
            length = bounds[0] + row
            for i in range(BLOCK):
                start = block * BLOCK + i
                code = norm_codes[block, row, i]
                if start >= units or room[start] < length:
                    assert code == 0
                    continue
                total = stored[start : start + length].sum(axis=0)
                square, around = total @ total, mass[start + length] - mass[start]
                if code == 0:
                    assert square <= 1.01e-8 * around + 1e-12 * mass[-1]
                    continue
                assert square > 0.99e-8 * (stored[start : start + length] ** 2).sum()
                decoded = affine[block, row, 0] + affine[block, row, 1] * np.float32(code)
                assert abs(decoded * np.sqrt(square) - 1) <= errors[block]
                after = segment.borders[start + length if start + length < units else 0]
                added = terms.lengths[0, length] + terms.start[segment.borders[start] & 15] + terms.end[after >> 4]
                inside = segment.borders[start + 1 : start + length]
                added += terms.crossing[0] * any(min(code & 15, code >> 4) >= 2 for code in inside.tolist())
                exact = total @ query / np.sqrt(square) + added
                assert abs(scores[row, i] - exact) <= errors[block] * (1 + coded.slack[0]) + coded.slack[0] + 1e-5
    assert prefix.shape == (units + 1, dim)


@pytest.mark.parametrize("instructions", [True, False])
def test_bytes_are_multiplied_alike_with_and_without_an_instruction(
    instructions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if instructions and not llvm.has_byte_products():
        pytest.skip("this processor has no instruction for it")
    monkeypatch.setattr(llvm, "has_byte_products", lambda: instructions)

    @njit
    def grow(flipped, scales, queries, first, steps, prefix):
        intrinsics.grow_prefix(flipped, scales, queries, first, steps, prefix)

    rng = np.random.default_rng(1)
    vectors = rng.integers(-127, 128, (intrinsics.ROWS, 12)).astype(np.int8)
    vectors[0], queries = 127, rng.integers(-127, 128, (5, 12)).astype(np.int8)
    queries[0], queries[1] = 127, -127
    scales = rng.random(intrinsics.ROWS).astype(np.float32)
    packed, first = pack(queries)
    prefix = np.ones((intrinsics.ROWS + 1, llvm.LANES), np.float32)
    steps = np.linspace(0.5, 2, llvm.LANES, dtype=np.float32)
    grow(vectors.view(np.uint8) ^ np.uint8(128), scales, packed[0], first[0], steps, prefix)
    dots = vectors.astype(np.int64) @ queries.T.astype(np.int64)
    expected = 1 + np.cumsum(dots * scales[:, None].astype(np.float64) * steps[:5], axis=0)
    np.testing.assert_allclose(prefix[1:, :5], expected, rtol=1e-4, atol=0.1)
    assert (prefix[:, 5:] == 1).all()


@pytest.mark.parametrize("instructions", [True, False])
@pytest.mark.parametrize("extreme", [8191, -8191, None])
def test_one_query_is_multiplied_by_halves(
    instructions: bool, extreme: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if instructions and not llvm.has_byte_products():
        pytest.skip("this processor has no instruction for it")
    monkeypatch.setattr(llvm, "has_byte_products", lambda: instructions)

    @njit
    def grow(vectors, scales, high, low, first, step, prefix):
        intrinsics.grow_prefix_of_one(vectors, scales, high, low, first, step, prefix)

    rng = np.random.default_rng(2)
    dim = 2 * intrinsics.LINE
    vectors = rng.integers(-127, 128, (intrinsics.ROWS, dim)).astype(np.int8)
    vectors[0], vectors[1] = 127, -127
    query = rng.integers(-8191, 8192, dim).astype(np.int16) if extreme is None else np.full(dim, extreme, np.int16)
    high, low, first = single.halves(query)
    assert (128 * high.astype(int) + low == query).all()
    scales = rng.random(intrinsics.ROWS).astype(np.float32)
    prefix = np.full(intrinsics.ROWS + 1, 3, np.float32)
    grow(vectors, scales, high, low, np.int32(first), np.float32(0.5), prefix)
    dots = vectors.astype(np.int64) @ query.astype(np.int64)
    expected = 3 + np.cumsum(0.5 * dots * scales.astype(np.float64))
    np.testing.assert_allclose(prefix[1:], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_spans_above_a_floor_are_those_that_reach_it() -> None:
    codes, scales = quantize(vectors_of("random", 700, 8, 3))
    norm_codes, affine, _ = kernels.inverse_norms(codes, scales, room_of([300, 400]), 2, 9)
    rng = np.random.default_rng(5)
    coded = code_queries(unit_length(rng.normal(size=(2, 8))), terms=terms_of(2))
    mask = rng.random(700) < 0.5
    stored = SegmentArrays(codes, scales, norm_codes, affine, 2, borders_of(len(codes)))
    owners, runs = np.array([0, 0, 1, 1]), np.array([0, 10, 3, 10])
    floors = np.array([0.2, 0.4, -1.5, 0.3])
    wanted_by, spans = kernels.spans_above(stored, coded.codes, coded.steps, coded.terms, owners, runs, floors, mask)
    expected = []
    for owner, run, floor in zip(owners, runs, floors, strict=True):
        scores = kernels.run_scores(stored, coded.codes[owner], coded.steps[owner], coded.terms.rounded(), owner, run)
        for i in range(kernels.RUN):
            start = run * kernels.RUN + i
            rows = np.flatnonzero((scores[:, i] > kernels.NO_SPAN) & (scores[:, i] >= floor))
            expected += [(owner, start, start + row + 2) for row in rows if start < 700 and mask[start]]
    assert list(zip(wanted_by.tolist(), *spans.T.tolist(), strict=True)) == expected
    assert len(set(wanted_by.tolist())) == 2


def test_the_error_is_small_where_vectors_are_alike() -> None:
    """Of unit vectors of similar lengths, as an encoder makes them, the scan must not have to rescore all."""
    codes, scales = quantize(vectors_of("drift", 600, 64, 1))
    _, _, errors = kernels.inverse_norms(codes, scales, room_of([600]), 1, 20)
    assert errors.max() < 0.005


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", [(1, 20), (4, 4), (2, 64)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dim", [13, 64])
@pytest.mark.parametrize("together", [False, True])
def test_scan_yields_the_best_of_every_run(
    kind: str, bounds: tuple[int, int], masked: bool, dim: int, together: bool
) -> None:
    """One query after the other, or many at once: more than one register holds, and not a whole number of them."""
    rng = np.random.default_rng(4)
    count = 19 if together else 2
    codes, scales = quantize(vectors_of(kind, 700, dim, 3))
    norm_codes, affine, errors = kernels.inverse_norms(codes, scales, room_of([300, 1, 0, 399]), *bounds)
    queries = rng.normal(size=(count, dim)).astype(np.float32)
    directions = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    coded = code_queries(directions, 127 if together else 8191, terms_of(count))
    mask = rng.random(700) < 0.3 if masked else None
    blocks = np.array([0, 2])
    stored = SegmentArrays(codes, scales, norm_codes, affine, bounds[0], borders_of(len(codes)))
    if together:
        best, peak = kernels.scan_batch(stored, coded.codes, coded.steps, coded.terms, blocks, mask)
    else:
        one_by_one = zip(coded.codes, coded.steps, [coded.terms.take([row]) for row in range(count)], strict=True)
        found = [kernels.scan(stored, *one, blocks, mask) for one in one_by_one]
        best, peak = (np.stack(arrays) for arrays in zip(*found, strict=True))
    for query in range(count):
        for position, block in enumerate(blocks.tolist()):
            code, step = coded.codes[query].astype(np.int16), coded.steps[query]
            scores = block_scores(stored, code, step, block, coded.terms, query)
            if mask is not None:
                allowed = np.append(mask, np.zeros(BLOCK, bool))[block * BLOCK : (block + 1) * BLOCK]
                scores[:, ~allowed] = kernels.NO_SPAN
            top = scores.max(axis=0).reshape(kernels.RUNS, kernels.RUN)
            # Both sides are sums in float32, begun in different places.
            atol = 2 * float(errors[block]) + 1e-5
            np.testing.assert_allclose(best[query, position], top.max(axis=1), rtol=1e-4, atol=atol)
            for run in range(kernels.RUNS):
                if best[query, position, run] > kernels.NO_SPAN:
                    at = peak[query, position, run] - block * BLOCK - run * kernels.RUN
                    assert top[run, at] == pytest.approx(top[run].max(), rel=1e-4, abs=2 * atol)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masked", [False, True])
def test_the_best_of_every_start(kind: str, masked: bool) -> None:
    rng = np.random.default_rng(4)
    codes, scales = quantize(vectors_of(kind, 700, 13, 3))
    norm_codes, affine, errors = kernels.inverse_norms(codes, scales, room_of([300, 1, 0, 399]), 2, 9)
    coded = code_queries(unit_length(rng.normal(size=(1, 13))), terms=terms_of(9).take(slice(8, 9)))
    mask = rng.random(700) < 0.3 if masked else None
    stored = SegmentArrays(codes, scales, norm_codes, affine, 2, borders_of(len(codes)))
    best = kernels.best_of_starts(stored, coded.codes[0], coded.steps[0], coded.terms, np.array([0, 2]), mask)
    assert (best[BLOCK : 2 * BLOCK] == kernels.NO_SPAN).all()
    for block in (0, 2):
        units = slice(block * BLOCK, min(700, (block + 1) * BLOCK))
        scores = block_scores(stored, coded.codes[0], coded.steps[0], block, coded.terms)
        expected = scores.max(axis=0)[: units.stop - units.start]
        if mask is not None:
            expected[~mask[units]] = kernels.NO_SPAN
        assert ((best[units] == kernels.NO_SPAN) == (expected == kernels.NO_SPAN)).all()
        np.testing.assert_allclose(best[units], expected, rtol=1e-4, atol=2 * float(errors[block]) + 1e-5)


@pytest.mark.ci("many examples")
def test_spans_reaching_the_floors_of_their_starts() -> None:
    codes, scales = quantize(vectors_of("random", 700, 8, 3))
    norm_codes, affine, _ = kernels.inverse_norms(codes, scales, room_of([300, 400]), 2, 9)
    rng = np.random.default_rng(5)
    coded = code_queries(unit_length(rng.normal(size=(1, 8))), terms=terms_of(9).take(slice(8, 9)))
    stored = (
        SegmentArrays(codes, scales, norm_codes, affine, 2, borders_of(len(codes))),
        coded.codes[0],
        coded.steps[0],
        coded.terms,
    )
    floors = np.where(rng.random(700) < 0.1, rng.uniform(-1.5, 0.8, 700), kernels.OUT_OF_REACH)
    expected = []
    for run in range(-(-700 // kernels.RUN)):
        scores = kernels.run_scores(*stored[:3], coded.terms.rounded(), 0, run)
        for start in range(run * kernels.RUN, min(700, (run + 1) * kernels.RUN)):
            column = scores[:, start - run * kernels.RUN]
            expected += [
                (start, start + row + 2)
                for row in np.flatnonzero((column > kernels.NO_SPAN) & (column >= floors[start]))
            ]
    assert list(map(tuple, kernels.spans_reaching(*stored, floors).tolist())) == expected
    assert len(expected) > 50
    nothing = np.full(700, kernels.OUT_OF_REACH)
    assert kernels.spans_reaching(*stored, nothing).shape == (0, 2)


@settings(max_examples=examples(30))
@given(st.integers(1, 60), st.sampled_from(KINDS), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_rescoring_is_exact(units: int, kind: str, dim: int, seed: int) -> None:
    codes, scales = quantize(vectors_of(kind, units, dim, seed))
    stored = codes.astype(np.float64) * scales.astype(np.float64)[:, None]
    query = np.random.default_rng(seed).normal(size=dim)
    query = (query / np.linalg.norm(query)).astype(np.float32)
    spans = [span for span in reference.all_spans(units, 1, 9) if not reference.cancels(stored, span)]
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    found = rescore(codes, scales, starts, ends, query)
    np.testing.assert_allclose(found, [reference.cosine(query, stored, span) for span in spans], atol=1e-6)


def test_a_figure_does_not_depend_on_the_company() -> None:
    codes, scales = quantize(vectors_of("random", 90, 33, 1))
    query = np.full(33, 33**-0.5, np.float32)
    starts = np.arange(70)
    together = rescore(codes, scales, starts, starts + 20, query)
    for at in (0, 13, 69):
        alone = rescore(codes, scales, starts[at : at + 1], starts[at : at + 1] + 20, query)
        assert alone[0] == together[at]


def test_a_zero_query_and_a_zero_span_score_nothing() -> None:
    codes, scales = quantize(np.zeros((3, 4), np.float32))
    assert rescore(codes, scales, np.array([0]), np.array([3]), np.ones(4, np.float32)).tolist() == [0]
    assert code_queries(np.zeros((1, 4), np.float32)).slack.tolist() == [0]


def test_no_spans_no_figures() -> None:
    codes, scales = quantize(np.zeros((0, 4), np.float32))
    nothing = np.zeros(0, np.int64)
    assert rescore(codes, scales, nothing, nothing, np.ones(4, np.float32)).shape == (0,)


@given(st.integers(0, 30), st.integers(1, 8), st.integers(0, 8))
def test_spans_are_enumerated(units: int, shortest: int, more: int) -> None:
    found = enumerate_spans(units, SpanBounds(shortest, shortest + more)).tolist()
    assert sorted(map(tuple, found)) == sorted(reference.all_spans(units, shortest, shortest + more))


@pytest.mark.parametrize("kind", KINDS)
def test_span_maths(kind: str) -> None:
    vectors = vectors_of(kind, 40, 5, 2).astype(np.float64)
    query = np.random.default_rng(3).normal(size=5)
    spans = enumerate_spans(40, SpanBounds(1, 20))
    sums = span_sums(vectors, spans)
    real = has_direction(vectors, spans, sums)
    pairs = [(int(a), int(b)) for a, b in spans]
    assert [not reference.cancels(vectors, pair) for pair in pairs] == real.tolist()
    cosines = span_cosines(query, vectors, spans)
    expected = [reference.cosine(query, vectors, pair) for pair in pairs]
    # Differences of prefix sums keep less of small spans beside a giant.
    atol = 1e-6 if kind not in ("sizes", "giant") else 0.05
    np.testing.assert_allclose(cosines[real], np.array(expected)[real], atol=atol)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=30))
def test_suppression_is_greedy(drawn: list[tuple[int, int]]) -> None:
    spans = [(start, start + length) for start, length in drawn]
    survivors = reference.greedy(spans)
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    assert kernels.non_overlapping(starts, ends).tolist() == survivors
