"""Figures of facets: transport and weights are what can be worked out by hand, and every set is read and scored."""

import gzip
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from research.evaluation.facet_summaries import (
    Summarised,
    by_means,
    by_words,
    evaluate_summaries,
    summarised_articles,
)
from research.evaluation.facets import average, earth_mover, evaluate_sentence_facets, sif, transport
from research.evaluation.phrase_facets import (
    emb_scores,
    evaluate_hypernyms,
    evaluate_phrase_facets,
    mean_cosines,
    sc_scores,
)
from research.evaluation.sts import SentencePair
from research.evaluation.wikipedia import Article, Section, is_held_out
from research.training.facet_network import FacetNetwork, facet_model
from spanseek_facets.directions import diff_scores
from spanseek_facets.forward import FacetShape, run_encoder
from spanseek_facets.model import FacetModel
from spanseek_facets.word_vectors import WordVectors
from tests.examples import examples

WORDS = WordVectors(
    ("tea", "coffee", "cup", "the"),
    np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0, 1], [0.6, 0, 0.8]], np.float32),
    np.array([0.001, 0.001, 0.001, 0.2]),
)
ONES = [np.ones(2), np.ones(2)]
TEA_CUP, CUP_TEA = np.array([0, 2], np.int32), np.array([2, 0], np.int32)


@pytest.fixture(scope="module")
def model() -> FacetModel:
    torch.manual_seed(13)
    return facet_model(FacetNetwork(FacetShape(facets=2, dim=3, heads=1, hidden=4)), WORDS)


@given(st.integers(1, 5), st.integers(0, 2**16))
@settings(max_examples=examples(40))
def test_equal_masses_are_moved_by_the_best_permutation(size: int, seed: int) -> None:
    costs = np.random.default_rng(seed).uniform(size=(size, size))
    best = min(sum(costs[row, to] for row, to in enumerate(order)) for order in permutations(range(size)))
    equal = np.full(size, 1 / size)
    assert earth_mover(costs, equal, equal) == pytest.approx(best / size, abs=1e-9)


def test_the_same_words_in_another_order_are_the_same_to_every_score() -> None:
    for score in (transport, average):
        for alpha in (None, 1e-3):
            (value,) = score(WORDS, [TEA_CUP, CUP_TEA], ONES, alpha=alpha)
            assert value == pytest.approx(0 if score is transport else 1, abs=1e-6)


def test_a_word_without_weight_does_not_count() -> None:
    only_tea = [np.array([1.0, 0.0]), np.ones(1)]
    rows = [TEA_CUP, np.array([0], np.int32)]
    assert transport(WORDS, rows, only_tea, alpha=None)[0] == pytest.approx(0, abs=1e-6)
    assert average(WORDS, rows, only_tea, alpha=None)[0] == pytest.approx(1)


def test_frequent_words_count_less_and_unknown_texts_are_far() -> None:
    rows = [np.array([0, 3], np.int32), np.array([0], np.int32)]
    weights = [np.ones(2), np.ones(1)]
    assert average(WORDS, rows, weights, alpha=1e-3)[0] > average(WORDS, rows, weights, alpha=None)[0]
    nothing = [np.zeros(0, np.int32), TEA_CUP]
    assert transport(WORDS, nothing, [np.zeros(0), np.ones(2)], alpha=None).tolist() == [-2.0]


def test_sif_removes_what_all_sentences_share() -> None:
    rows = [np.array([word], np.int32) for word in (0, 0, 1, 1)]
    assert sif(WORDS, rows, [np.ones(1)] * 4).shape == (2,)
    shared = [np.array([0], np.int32)] * 4
    assert np.abs(sif(WORDS, shared, [np.ones(1)] * 4)).max() < 2


def test_sentences_have_a_figure_for_every_score_and_weighting(model: FacetModel) -> None:
    first = ["tea cup", "coffee", "the cup", "tea", "the", "cup cup tea", "coffee the", "cup coffee"]
    texts = zip(first, ["the tea", "cup", "cup", "coffee tea", "tea", "coffee", "tea the", "the cup"], strict=True)
    pairs = [SentencePair(one, other, float(grade)) for grade, (one, other) in enumerate(texts)]
    figures = evaluate_sentence_facets(pairs, WORDS, {"two": model}, HashingEncoder())
    facets = {score: list(figures.pop(score)) for score in ("cosine", "sc")}
    assert facets == {"cosine": ["backbone", "two"], "sc": ["two"]}
    assert list(figures) == ["avg", "prob_avg", "sif", "wmd", "prob_wmd"]
    assert all(list(rows) == ["words", "two"] for rows in figures.values())
    assert all(
        -100 <= row[part] <= 100 for rows in figures.values() for row in rows.values() for part in ("all", "low")
    )
    for rows in figures.values():
        assert rows["two"]["gain"] == pytest.approx(rows["two"]["all"] - rows["words"]["all"], abs=0.02)
        assert rows["two"]["gain_lower"] <= rows["two"]["gain"]
        assert "gain" not in rows["words"]


def test_a_text_is_most_like_itself(model: FacetModel) -> None:
    scores = sc_scores(model, ["tea cup", "tea cup"], ["tea cup", "the coffee"])
    assert scores[0] > scores[1]
    assert mean_cosines(WORDS, ["tea", "unknown"], ["tea", "tea"]).tolist() == [1, 0]
    same, other, unknown = emb_scores(model, ["tea cup", "tea cup", "unknown"], ["tea cup", "the coffee", "tea"])
    assert same == pytest.approx(1)
    assert other < same
    assert unknown == 0


def test_emb_is_the_cosine_of_the_means_that_a_loop_over_words_has(
    model: FacetModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mean(text: str) -> list[float]:
        vectors, mask = model.reader.vectors(model.reader.ids([text]))
        _end, *words = run_encoder(model.parameters, model.shape, vectors, mask)[0][0]
        return [sum(float(word[place]) for word in words) / len(words) for place in range(model.shape.dim)]

    def cosine(one: list[float], other: list[float]) -> float:
        product = sum(here * there for here, there in zip(one, other, strict=True))
        return product / math.sqrt(sum(value**2 for value in one) * sum(value**2 for value in other))

    first, second = ["tea cup", "coffee", "the tea cup", "tea"], ["cup tea", "the coffee cup", "tea", "cup the tea cup"]
    monkeypatch.setattr("research.evaluation.phrase_facets._BLOCK", 3)  # The texts of a block are padded to one length.
    naive = [cosine(mean(one), mean(other)) for one, other in zip(first, second, strict=True)]
    np.testing.assert_allclose(emb_scores(model, first, second), naive, atol=1e-5)
    assert len({round(value, 4) for value in naive}) == len(naive)


def test_diff_changes_its_sign_with_the_order(model: FacetModel) -> None:
    there = diff_scores(model, ["tea", "tea cup", "unknown"], ["tea cup", "coffee", "tea"])
    back = diff_scores(model, ["tea cup", "coffee", "tea"], ["tea", "tea cup", "unknown"])
    np.testing.assert_allclose(there, -back, atol=1e-6)


def test_unknown_words_are_special(model: FacetModel) -> None:
    one, two = diff_scores(model, ["tea", "tea"], ["tea unknown", "tea unknown words"])
    assert two - one == pytest.approx(1)
    assert diff_scores(model, ["tea"], ["unknown"])[0] > 0


def test_hypernyms_are_counted(model: FacetModel, tmp_path: Path) -> None:
    path = tmp_path / "hypenet.tsv"
    path.write_text("tea\tthe cup\tTrue\ncup\tcoffee\tFalse\n", "utf-8")
    figures = evaluate_hypernyms(path, model)
    assert (figures["pairs"], figures["hypernyms"], figures["known"]) == (2, 1, 1)
    assert figures["known_accuracy"] == figures["accuracy"]
    assert figures["accuracy"] in (0.0, 100.0)
    path.write_text("tea\tthe cup\tyes\n", "utf-8")
    with pytest.raises(InvalidInput, match="Line 1"):
        evaluate_hypernyms(path, model)


def test_phrase_sets_are_read_and_scored(model: FacetModel, tmp_path: Path) -> None:
    files = {
        "bird/BiRD.txt.gz": None,
        "wikisrs/WikiSRS_similarity.csv": "String1\tString2\tMean\ntea\ttea\t90\ntea\tcup\t10\ntea\tcoffee\t60\n",
        "wikisrs/WikiSRS_relatedness.csv": "String1\tString2\tMean\ntea\ttea\t90\ntea\tcup\t10\ntea\tcoffee\t60\n",
        "fct-phrasesim/SemEval2013/en.testSet": "the\tD\ntea\tN\ntea\n1\nthe\tD\ncoffee\tN\ncup\n0\n",
        "fct-phrasesim/Turney2012/jair.data": "the\tD\ntea\tN\ntea\nthe\ntea\ncup\ncup\ncup\ncoffee\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            (tmp_path / name).write_text(text, "utf-8")
    with gzip.open(tmp_path / "bird/BiRD.txt.gz", "wt", encoding="utf-8") as file:
        file.write("term1\tterm2\trelatedness score\ntea\ttea\t0.9\ntea\tcup\t0.1\ntea\tcoffee\t0.6\n")
    figures = evaluate_phrase_facets(tmp_path, WORDS, {"two": model}, HashingEncoder())
    assert list(figures) == ["words", "backbone", "two", "two, Emb"]
    assert figures["words"]["wikisrs_similarity"] == pytest.approx(100)
    assert figures["words"]["semeval2013_f1"] == pytest.approx(100)
    assert set(figures["two"]) == {*figures["words"]}
    assert {"turney5", "turney10", "bird"} <= set(figures["two"])


BODY = ("Tea, tea.", "The cup.", "Coffee and tea.", "Unknown words.")


def test_only_held_out_articles_with_a_lead_and_a_body_are_summarised() -> None:
    titles = [f"Title {number}" for number in range(60)]
    sections = (Section("", ["word " * 40]), Section("History", ["It was. " * 12]))
    read = summarised_articles([Article(title, sections) for title in titles], 50)
    assert len(read) == sum(is_held_out(Article(title, ())) for title in titles) > 0
    assert len(read[0].body) == 12
    short = (Section("", ["word"]), Section("History", ["It was. " * 12]))
    assert summarised_articles([Article(title, short) for title in titles], 50) == []


def test_summaries_choose_different_sentences_and_are_scored(model: FacetModel) -> None:
    article = Summarised(BODY, "Tea in a cup.")
    for choose in (by_means, by_words):
        chosen = choose(article, WORDS, 2)
        assert len(set(chosen)) == 2
        assert 3 not in chosen
    figures = evaluate_summaries([article], WORDS, {"two": model}, 2, 13)
    assert list(figures) == ["random", "lead", "sentence_mean", "word_vectors", "two"]
    assert figures["lead"]["rouge1"] == pytest.approx(100 * 2 * 2 / (4 + 4))
    for score in ("rouge1", "rouge2"):
        gain = figures["two"][score] - figures["lead"][score]
        # Of one article every resample is the article.
        assert figures["lead"][f"{score}_behind"] == pytest.approx(gain, abs=0.01)
        assert figures["lead"][f"{score}_behind_lower"] == pytest.approx(gain, abs=0.01)
        assert f"{score}_behind" not in figures["two"]
    with pytest.raises(InvalidInput, match="no held-out articles"):
        evaluate_summaries([], WORDS, {}, 2, 13)
