"""Paraphrase identification: from the published form to ranks that no order of candidates can help."""

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.encoders.hashing import HashingEncoder
from models.encoders.nuggets.hashing import HashingNuggetEncoder
from models.encoders.nuggets.whitened import WhitenedNuggets, fit_whitening
from models.errors import InvalidInput
from research.evaluation.equal_chunks import EqualChunks, chunk_means
from research.evaluation.paraphrase_identification import (
    Ranking,
    Report,
    Task,
    Tasks,
    evaluate_paraphrases,
    maxsim,
    nugget_vectors,
    rank,
    read_tasks,
    reciprocal_rank,
)

DOCUMENTS = {
    "L0": "a red car\x85and a blue one",
    "R0": "the red car, the blue one",
    "R1": "cold soup",
    "R2": "old \rtown",
}
TASK = {"source": "L0", "candidates": ["R0", "R1", "R2"], "answer": 0}


def save(folder: Path, rows: Sequence[object] = (TASK,), *, packed: bool = True) -> Path:
    folder.mkdir(parents=True)
    text = "".join(f"{name}\t{text}\n" for name, text in DOCUMENTS.items()).encode()
    (folder / ("docs.txt.gz" if packed else "docs.txt")).write_bytes(gzip.compress(text) if packed else text)
    (folder / "task.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("packed", [True, False])
def test_the_published_form_is_read(tmp_path: Path, packed: bool) -> None:
    save(tmp_path / "paraphrase_identification/dev", packed=packed)
    expected = Tasks(list(DOCUMENTS.values()), [Task(0, (1, 2, 3), 0)])
    for folder in ("", "paraphrase_identification", "paraphrase_identification/dev"):
        assert read_tasks(tmp_path / folder, "dev") == expected
    with pytest.raises(InvalidInput, match="no split train"):
        read_tasks(tmp_path, "train")


@pytest.mark.parametrize(
    "rows", [[], ["L0"], [TASK | {"answer": 3}], [TASK | {"source": "L9"}], [{"source": "L0"}]], ids=str
)
def test_another_form_is_refused(tmp_path: Path, rows: list) -> None:
    save(tmp_path / "dev", rows)
    with pytest.raises(InvalidInput) as caught:
        read_tasks(tmp_path, "dev")
    assert caught.value.field == "data"
    assert "docs.txt" in caught.value.hint


def test_documents_that_are_not_there(tmp_path: Path) -> None:
    (save(tmp_path / "dev") / "docs.txt.gz").unlink()
    with pytest.raises(InvalidInput, match=r"docs\.txt"):
        read_tasks(tmp_path, "dev")


def test_a_constant_score_is_last_wherever_the_answer_stands() -> None:
    assert [reciprocal_rank([0.5] * 20, answer) for answer in (0, 7, 19)] == [1 / 20] * 3


def test_the_order_of_candidates_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    vectors = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in rng.normal(size=(30, 4, 8))]
    vectors = [rows.astype(np.float32) for rows in vectors]
    tasks = [Task(number, tuple(range(10, 30)), 0) for number in range(10)]
    shuffled = []
    for task in tasks:
        order = random.Random(task.source).sample(range(20), 20)
        shuffled.append(replace(task, candidates=tuple(10 + n for n in order), answer=order.index(0)))
    first, second = (rank(Tasks([], found), vectors).reciprocal for found in (tasks, shuffled))
    np.testing.assert_array_equal(first, second)
    assert len(set(first)) > 2


def test_maxsim_is_a_mean_over_the_query_of_the_best_of_the_document() -> None:
    rng = np.random.default_rng(2)
    query, document = (rng.normal(size=(n, 5)).astype(np.float32) for n in (3, 4))
    naive = sum(max(float(np.dot(q, d)) for d in document) for q in query) / 3
    assert maxsim(query, document) == pytest.approx(naive, abs=1e-5)
    assert maxsim(query, document[:0]) == maxsim(query[:0], document) == -1


def test_texts_without_a_word_come_last() -> None:
    tasks = Tasks(["a b", "", "c"], [Task(0, (1, 2), 0), Task(1, (0, 2), 0)])
    report = evaluate_paraphrases(HashingNuggetEncoder(HashingEncoder()), HashingEncoder(), tasks, 0.5)
    assert report.nuggets.reciprocal.tolist() == [0.5, 0.5]


def test_long_texts_are_read_in_windows_whole() -> None:
    encoder = HashingEncoder(window=4)
    text = "one two three four five six seven eight nine"
    (found,) = nugget_vectors(HashingNuggetEncoder(encoder), [text], 1.0)
    assert len(found) == 9
    short, long = (nugget_vectors(HashingNuggetEncoder(encoder), texts, 0.5)[-1] for texts in ([text], ["one", text]))
    np.testing.assert_array_equal(short, long)


def test_chunks_are_equal_and_hold_every_token() -> None:
    vectors = np.eye(7, dtype=np.float32)
    means = chunk_means(vectors, 3)
    assert (means > 0).sum(axis=0).tolist() == [1] * 7
    assert (means > 0).sum(axis=1).tolist() == [2, 2, 3]


def test_chunks_as_nuggets_are_the_baseline_and_are_whitened_as_it_is() -> None:
    rng = random.Random(4)
    texts = [" ".join(rng.choices(["red", "car", "cold", "soup", "old", "town"], k=12)) for _ in range(6)]
    tasks, encoder = Tasks(texts, [Task(0, (1, 2, 3), 1), Task(4, (5, 2, 1), 0)]), HashingEncoder()
    chunks = EqualChunks(encoder)
    matrix = fit_whitening(chunks, texts, 0.5)
    report = evaluate_paraphrases(WhitenedNuggets(chunks, matrix), encoder, tasks, 0.5, matrix)
    np.testing.assert_array_equal(report.nuggets.reciprocal, report.baselines["chunk_mean_whitened"].reciprocal)
    plain = evaluate_paraphrases(chunks, encoder, tasks, 0.5)
    np.testing.assert_array_equal(plain.nuggets.reciprocal, report.baselines["chunk_mean"].reciprocal)
    assert "chunk_mean_whitened" not in plain.baselines


def test_gains_have_a_lower_bound_below_them_unless_all_tasks_agree() -> None:
    better = Ranking(np.array([1.0, 1.0, 0.5, 1.0]), 2)
    worse = Ranking(np.array([0.5, 1.0, 0.5, 0.25]), 2)
    gains = Report(0.1, better, {"chunk_mean": worse, "all_tokens": better}).gains()
    assert gains["chunk_mean"]["difference"] == 31.25
    assert 0 <= gains["chunk_mean"]["lower"] < 31.25
    assert gains["all_tokens"] == {"difference": 0.0, "lower": 0.0}
