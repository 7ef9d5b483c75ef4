"""STS-B-Context against loops over spans, on the encoder without weights."""

from pathlib import Path

import numpy as np
import pytest

from app.evaluation.sts_b_context import (
    Row,
    correlations,
    encode_texts,
    evaluate,
    isolated_scores,
    ngrams,
    read_rows,
    setup_scores,
)
from models import units
from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import SpanBounds

ROWS = [
    Row("red car", "a red car", "They saw a red car leave.", 4.0),
    Row("old house", "cold soup", "Nobody wants cold soup, she said.", 0.5),
    Row("the dog ran", "the dog fled", "At noon the dog fled from home.", 3.0),
]


def by_loops(encoder: HashingEncoder, row: Row, longest: int) -> float:
    spans = units.split(row.passage)
    ((vectors,),) = encoder.forward([[encoder.tokenize([row.passage])[0].ids]])
    (query,) = encode_queries(encoder, [row.query])
    best = -1.0
    for start in range(len(spans)):
        for end in range(start + 1, min(len(spans), start + longest) + 1):
            mean = vectors[start:end].mean(axis=0)
            best = max(best, float(mean @ query / np.linalg.norm(mean)))
    return best


@pytest.mark.parametrize("longest", [1, 3, 20])
def test_a_single_pass_finds_the_best_span(longest: int) -> None:
    encoder = HashingEncoder()
    scores = setup_scores(encoder, ROWS, "single_pass", SpanBounds(1, longest))
    np.testing.assert_allclose(scores, [by_loops(encoder, row, longest) for row in ROWS], atol=1e-5)


def test_without_context_in_the_vectors_both_ngram_setups_agree() -> None:
    encoder = HashingEncoder()
    one, many = (setup_scores(encoder, ROWS, name, SpanBounds()) for name in ("single_pass", "ngram_forward"))
    np.testing.assert_allclose(one, many, atol=1e-5)


def test_the_full_context_is_one_vector_for_the_passage() -> None:
    encoder = HashingEncoder()
    passages = [Row(row.query, row.passage, "", row.gold) for row in ROWS]
    found = setup_scores(encoder, ROWS, "full_context", SpanBounds())
    np.testing.assert_allclose(found, isolated_scores(encoder, passages), atol=1e-6)


def test_texts_are_encoded_in_the_order_given() -> None:
    encoder = HashingEncoder()
    texts = ["a much longer text than the others are", "short", "of medium length"]
    alone = np.concatenate([encode_queries(encoder, [text]) for text in texts])
    np.testing.assert_allclose(encode_texts(encoder, texts), alone, atol=1e-6)
    assert encode_texts(encoder, []).shape == (0, encoder.dim)


def test_one_setup_can_be_run_alone_and_an_unknown_one_is_refused() -> None:
    assert list(evaluate(HashingEncoder(), ROWS, ["single_pass"])) == ["single_pass"]
    with pytest.raises(InvalidInput, match="no set-up 'other'"):
        evaluate(HashingEncoder(), ROWS, ["other"])


def test_ngrams_are_texts_of_spans() -> None:
    assert ngrams(HashingEncoder(), "no, sir", SpanBounds(2, 3)) == ["no,", ", sir", "no, sir"]


def test_correlations_are_those_of_the_definition() -> None:
    scores, gold = np.array([0.3, 0.1, 0.8, 0.4]), np.array([2.0, 1.0, 3.0, 5.0])
    found = correlations(scores, gold)
    ranks = [np.argsort(np.argsort(values)) for values in (scores, gold)]
    assert found.pearson == pytest.approx(np.corrcoef(scores, gold)[0, 1], abs=1e-6)
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-6)


def test_rows_are_read_with_quotes(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text('\tline\tparaphrase\tpassage\tgoldsim\n7\ta\tb\t"say ""b"""\t2.5\n')
    assert read_rows(path) == [Row("a", "b", 'say "b"', 2.5)]
    path.write_text("line\tpassage\n")
    with pytest.raises(InvalidInput, match="goldsim, paraphrase"):
        read_rows(path)


def test_a_passage_longer_than_a_window_is_refused() -> None:
    with pytest.raises(InvalidInput, match="3 tokens; a window holds 2"):
        setup_scores(HashingEncoder(window=2), [Row("a", "a", "a b c", 1.0)], "single_pass", SpanBounds())
