"""Coefficients are those of scipy's solver; importance and coverage are what loops say they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from models.ops.quantization import dequantize, quantize_directions
from models.ops.similarity import normalize
from models.text.units import split
from research.evaluation.unit_weights import unit_weights
from spanseek_facets.kernels import facet_distances, facet_nearness
from spanseek_facets.scores import (
    PENALTY,
    best_cosines,
    codebook_distance,
    coefficients,
    cover_cosines,
    direction,
    importance,
    reconstruction_error,
)
from spanseek_facets.word_vectors import WordVectors, split_words, word_spans
from tests import reference
from tests.examples import examples

values = st.floats(-2, 2, width=16)


@st.composite
def codebook_and_words(draw):
    dim = draw(st.integers(1, 5))
    return tuple(draw(arrays(np.float64, (draw(st.integers(1, 4)), dim), elements=values)) for _ in range(2))


def loss(codebook, word, penalty, column) -> float:
    return float(((column @ codebook - word) ** 2).sum() + penalty * column.sum())


@given(codebook_and_words(), st.floats(0, 1, width=16))
@settings(max_examples=examples(60))
def test_no_solver_finds_better_coefficients(drawn, penalty) -> None:
    codebook, words = drawn
    matrix = coefficients(codebook, words, penalty, sweeps=2_000)
    assert ((matrix >= 0) & (matrix <= 1)).all()
    for word, column in zip(words, matrix.T, strict=True):
        best = minimize(
            lambda x, word=word: loss(codebook, word, penalty, x),
            np.full(len(codebook), 0.5),
            bounds=[(0, 1)] * len(codebook),
            method="L-BFGS-B",
        )
        assert loss(codebook, word, penalty, column) <= best.fun + 1e-4


@pytest.mark.ci("many examples")
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(40), deadline=None)
def test_the_kernels_have_the_distances_of_the_definition(ours: int, theirs: int, dim: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codebook = normalize(rng.normal(size=(ours, dim)).astype(np.float32))
    codes, scales = quantize_directions(rng.normal(size=(5 * theirs, dim)))
    stored = dequantize(codes, scales).reshape(5, theirs, dim)
    rows = rng.integers(0, 5, size=7)
    distances = facet_distances(
        codes.reshape(5, theirs, dim), scales.reshape(5, theirs), rows, codebook, PENALTY, 2_000
    )
    expected = [reference.codebook_distance(codebook, stored[row], PENALTY) for row in rows.tolist()]
    assert distances.tolist() == pytest.approx(expected, abs=1e-3)
    assert (distances <= ours + theirs + 1e-5).all()
    near = facet_nearness(codes.reshape(5, theirs, dim), scales.reshape(5, theirs), rows, codebook)
    assert near.tolist() == pytest.approx([reference.nearness(codebook, stored[row]) for row in rows], abs=1e-5)


@given(codebook_and_words())
@settings(max_examples=examples(40))
def test_the_error_is_that_of_the_coefficients_and_batches_are_their_rows(drawn) -> None:
    codebook, words = drawn
    matrix = coefficients(codebook, words)
    errors = [((column @ codebook - word) ** 2).sum() for word, column in zip(words, matrix.T, strict=True)]
    assert float(reconstruction_error(codebook, words)) == pytest.approx(sum(errors), abs=1e-9)
    both = reconstruction_error(np.stack([codebook, codebook[::-1]]), np.stack([words, words]))
    assert both[0] == pytest.approx(float(reconstruction_error(codebook, words)), abs=1e-9)


@given(codebook_and_words())
@settings(max_examples=examples(40))
def test_distance_is_symmetric_and_direction_antisymmetric(drawn) -> None:
    first, second = drawn
    assert float(codebook_distance(first, second)) == pytest.approx(float(codebook_distance(second, first)))
    there = float(direction(first, first, second, second))
    assert there == pytest.approx(-float(direction(second, second, first, first)))


@given(codebook_and_words())
@settings(max_examples=examples(40))
def test_importance_is_that_of_loops(drawn) -> None:
    codebook, words = drawn
    assert importance(words, codebook).tolist() == pytest.approx(reference.importance(words, codebook), abs=1e-9)


LETTERS = st.sampled_from("aAb\u0130\u017f\u00df\u03a3\u03c33'\u2019-_.,! \u0301\u200d東京é🏳️")


@given(st.text(LETTERS, max_size=25), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_weights_of_units_are_those_of_loops(text: str, data: st.DataObject) -> None:
    names = sorted(set(split_words(text)))
    known = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(known), max_size=len(known)))
    words = WordVectors(tuple(known), np.ones((len(known), 2), np.float32), np.ones(len(known)))
    units = split(text)
    ours = unit_weights(words, text, units, lambda ids: np.array(weights, np.float64)[ids])
    expected = reference.unit_weights(text, units.tolist(), dict(zip(known, weights, strict=True)))
    assert ours.tolist() == pytest.approx(expected, abs=1e-9)


@given(st.text(LETTERS, max_size=25))
@settings(max_examples=examples(200), deadline=None)
def test_words_stand_where_their_letters_do(text: str) -> None:
    names, spans = word_spans(text)
    assert names == split_words(text)
    assert len(spans) == len(names)
    for name, (start, end) in zip(names, spans.tolist(), strict=True):
        assert name in text.lower()
        assert set(name) <= set(text[start:end].lower()) | set("\u03c3\u03c2")  # a sigma depends on what follows


@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**16))
@settings(max_examples=examples(60))
def test_coverage_is_that_of_loops(sentences, facets, words, count, seed) -> None:
    rng = np.random.default_rng(seed)
    codebooks = normalize(rng.normal(size=(sentences, facets, 4)))
    points, weights = normalize(rng.normal(size=(words, 4))), rng.uniform(0.1, 1, words)
    chosen = cover_cosines(best_cosines(codebooks, points), weights, count)
    assert chosen.tolist() == reference.cover(codebooks, points, weights.tolist(), count)
    assert best_cosines(codebooks, points).shape == (sentences, words)
