"""Learning the parameters of the span score."""

import math

import numpy as np
import pytest

from models.encoders.hashing import HashingEncoder
from models.encoders.span_scores import read_span_score, write_span_score
from models.ops.span_score import BORDERS, COSINE, SpanScore
from models.text.borders import border_codes, end_strengths, start_strengths
from models.text.units import split
from models.types import SpanBounds
from research.training.default_calibration import graded_spans
from research.training.sources import GradedPair
from research.training.span_score import Grades, Search, learn_span_score, read_contexts
from research.training.texts import Texts
from tests.reference import RefPart, RefScore, all_spans, cosine, span_terms

PROSE = "The night was cold, and nobody came. Snow fell on the old road; a dog barked twice. Morning broke at last."
PAIRS = [
    GradedPair("please cancel my order", "cancel the order I made", 0.9),
    GradedPair("the router is slow", "my router became slow", 1.0),
    GradedPair("the red car", "a blue whale", 0.1),
    GradedPair("where is my parcel", "parcel", 0.5),
]
TEXTS = Texts({"novels": [PROSE] * 3}, {"short": ["a dog"]}, PAIRS, {})
BOUNDS = SpanBounds(1, 6)
ENCODER = HashingEncoder()


@pytest.mark.parametrize("score", [COSINE, SpanScore(0.2, (-0.1, -0.05, *[0.0] * 4), (-0.03, *[0.0] * 5), -0.2)])
def test_the_best_span_is_the_oracles(score: SpanScore) -> None:
    contexts = read_contexts(ENCODER, TEXTS, 10, 7, BOUNDS)
    texts = {span.query: span.sample.text for span in graded_spans(TEXTS, BOUNDS, 7)}
    assert len(contexts) == len(texts) > 2
    for context in contexts:
        best, overlap = Search.of(context, [context]).best(score)
        (text,) = (
            text
            for query, text in texts.items()
            if len(split(query)) == context.query_units
            and len(split(text)) == len(context.vectors)
            and np.allclose(context.query, _vector(query))
        )
        codes = border_codes(text, split(text))
        borders = list(zip(start_strengths(codes).tolist(), end_strengths(codes).tolist(), strict=True))
        part = RefPart(context.vectors, [], borders=borders)
        terms = RefScore(context.query_units, score.discount, score.start, score.end, score.crossing)
        values = {
            span: cosine(context.query, context.vectors, span) + span_terms(part, span, terms)
            for span in all_spans(len(context.vectors), BOUNDS.shortest, BOUNDS.longest)
        }
        assert best == pytest.approx(max(values.values()), abs=1e-6)
        assert 0 <= overlap <= 1


def _vector(text: str) -> np.ndarray:
    from models.encoders.base import encode_queries

    return encode_queries(ENCODER, [text])[0]


def test_what_is_learned_is_at_least_as_good_as_the_cosine() -> None:
    grades = Grades(read_contexts(ENCODER, TEXTS, 10, 7, BOUNDS), 7)
    learned = learn_span_score(grades)
    assert grades.fitness(learned).total >= grades.fitness(COSINE).total
    fixed = learn_span_score(grades, discount=0.12, crossing=-0.1)
    assert (fixed.discount, fixed.crossing) == (0.12, -0.1)
    assert not math.isnan(grades.fitness(fixed).pearson)


def test_parameters_are_written_beside_others(tmp_path) -> None:
    one = SpanScore(0.12, (-0.02, *[0.0] * (BORDERS - 1)), (-0.02, *[0.0] * (BORDERS - 1)), -0.1, 0.6)
    write_span_score(tmp_path, "e1", one)
    write_span_score(tmp_path, "e2", SpanScore(0.5))
    assert read_span_score(tmp_path, "e1") == one
    assert read_span_score(tmp_path, "e2") == SpanScore(0.5)
