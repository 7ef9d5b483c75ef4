"""Facets learn what stands near a text, go on from a checkpoint, and are loaded as they were saved."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.encoders.hashing import HashingEncoder
from models.errors import BackboneMismatch, InvalidInput
from research.evaluation.wikipedia import Article, Section, is_held_out
from research.training.facet_data import draw, of_sentences, read_neighbourhoods
from research.training.facet_network import FacetNetwork
from research.training.facets import FacetConfig, losses, nnsc, train_facets
from research.training.loop import LoopHooks, Schedule
from research.training.word_vectors import WordVectorShape, encode_word_vectors, learn_word_vectors, mean_vectors
from spanseek_facets.forward import FacetShape
from spanseek_facets.model import load_facets
from spanseek_facets.readers import EncoderReader, WordReader
from spanseek_facets.scores import coefficients
from spanseek_facets.word_vectors import WordVectors

NAMES = ("red green blue hot cold warm the dog cat bird " + "one two three four five six").split()
SPACE = np.linalg.qr(np.random.default_rng(5).normal(size=(16, 16)))[0].astype(np.float32)
WORDS = WordVectors(tuple(NAMES), SPACE, np.full(16, 1 / 16), "words")
TEXTS = ["Red green blue.", "The hot cold warm.", "Dog cat bird.", "One two three.", "Four five six."] * 3
NEAR = list(of_sentences(TEXTS, WORDS, WordReader(WORDS)))
SHAPE = FacetShape(facets=3, dim=16, heads=2, hidden=32)


def config(folder: Path, **options: object) -> FacetConfig:
    base = FacetConfig(folder / "out", folder / "runs", batch=8, save_every=10, shape=SHAPE)
    return replace(base, schedule=Schedule(steps=20, rate=3e-3), **options)


def test_neighbours_are_words_of_the_sentences_around_less_stop_words() -> None:
    assert [WORDS.words[number] for number in NEAR[0].near] == ["hot", "cold", "warm"]
    assert [WORDS.words[number] for number in NEAR[1].near] == ["red", "green", "blue", "dog", "cat", "bird"]


def test_held_out_articles_and_excluded_sentences_are_not_read() -> None:
    titles = [f"Title {number}" for number in range(40)]
    held = next(title for title in titles if is_held_out(Article(title, ())))
    read = next(title for title in titles if not is_held_out(Article(title, ())))
    sections = (Section("", [" ".join(TEXTS[:3])]),)
    assert read_neighbourhoods([Article(held, sections)], WORDS, "sentences", 9) == []
    every = read_neighbourhoods([Article(read, sections)], WORDS, "sentences", 9)
    fewer = read_neighbourhoods([Article(read, sections)], WORDS, "sentences", 9, ["dog, cat: BIRD"])
    assert (len(every), len(fewer)) == (3, 2)


@pytest.mark.parametrize("loss", ["nnsc", "kmeans"])
def test_training_overfits_a_handful_of_texts(tmp_path: Path, loss: str) -> None:
    run = replace(config(tmp_path, loss=loss), schedule=Schedule(steps=150, rate=3e-3))
    totals: list[float] = []
    train_facets(run, WORDS, NEAR, LoopHooks(lambda report: totals.append(sum(report.losses.values()))))
    assert np.mean(totals[-10:]) < np.mean(totals[:10]) - 0.1


def test_a_k_means_loss_is_bounded_however_long_facets_are(tmp_path: Path) -> None:
    network = FacetNetwork(SHAPE)
    with torch.no_grad():
        network.out.weight.mul_(1e4)
    parts = losses(
        config(tmp_path, loss="kmeans"), network, torch.from_numpy(WORDS.vectors), WordReader(WORDS), NEAR, 0
    )
    assert all(0 <= abs(part.item()) <= 4 for part in parts.values())


def test_facets_over_a_frozen_encoder_learn_and_are_loaded_without_torch(tmp_path: Path) -> None:
    encoder = HashingEncoder(dim=24, window=12)
    reader = EncoderReader(encoder)
    near = list(of_sentences(TEXTS, WORDS, reader))
    assert near[0].text.tolist() == encoder.tokenize([TEXTS[0]])[0].ids.tolist()
    shape = replace(SHAPE, encoder="backbone", read_dim=24, encoder_layers=0)
    run = replace(config(tmp_path, shape=shape, encoder="small-hash"), schedule=Schedule(steps=100, rate=3e-3))
    totals: list[float] = []
    train_facets(run, WORDS, near, LoopHooks(lambda report: totals.append(sum(report.losses.values()))), reader)
    assert np.mean(totals[-10:]) < np.mean(totals[:10]) - 0.1
    loaded = load_facets(tmp_path / "out", WORDS, {"small-hash": encoder}.__getitem__)
    texts = ["Red dog", "", " ".join(NAMES * 5), "one two three four five six"]
    facets = loaded.encode(texts)
    for text, rows in zip(texts, facets, strict=True):
        np.testing.assert_allclose(loaded.encode([text])[0], rows, atol=1e-4)
    other = HashingEncoder(dim=24, window=13)
    with pytest.raises(BackboneMismatch, match="small-hash"):
        load_facets(tmp_path / "out", WORDS, lambda name: other)


def test_reading_begins_with_the_vectors_of_words(tmp_path: Path) -> None:
    reader = EncoderReader(HashingEncoder(dim=64))
    network = FacetNetwork(replace(SHAPE, encoder="backbone", read_dim=64, encoder_layers=0))
    vectors, mask = reader.vectors(reader.ids(NAMES))
    network.begin_reading(torch.from_numpy(vectors[:, 0]), torch.from_numpy(WORDS.vectors))
    words, _ = network._inputs(torch.from_numpy(vectors), torch.from_numpy(mask))
    cosines = torch.nn.functional.cosine_similarity(words[:, 0], torch.from_numpy(WORDS.vectors))
    assert cosines.min() > 0.9


def test_sentences_that_a_frozen_encoder_cannot_read_at_once_are_left_out() -> None:
    few = of_sentences(
        ["Red green blue.", "The hot cold warm dog cat bird.", "One two three."],
        WORDS,
        EncoderReader(HashingEncoder(window=5)),
    )
    assert [len(each.text) for each in few] == [4, 4]


def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = train_facets(config(tmp_path / "a"), WORDS, NEAR)
    stopped = config(tmp_path / "b")
    made: list[int] = []
    train_facets(stopped, WORDS, NEAR, LoopHooks(lambda report: made.append(report.step), lambda: len(made) == 7))
    again = train_facets(stopped, WORDS, NEAR)
    assert made == list(range(1, 8))
    assert again.sha256 == whole.sha256


def test_another_run_is_refused(tmp_path: Path) -> None:
    train_facets(config(tmp_path), WORDS, NEAR)
    with pytest.raises(InvalidInput, match="seed"):
        train_facets(config(tmp_path, seed=14), WORDS, NEAR)


@pytest.mark.parametrize("attention", [True, False])
def test_loaded_facets_are_those_saved_and_do_not_depend_on_the_batch(tmp_path: Path, attention: bool) -> None:
    train_facets(config(tmp_path, shape=replace(SHAPE, attention=attention)), WORDS, NEAR)
    model = load_facets(tmp_path / "out", WORDS)
    texts = ["Red dog", "", "unknown", " ".join(NAMES * 5), "one two three four five six"]
    facets = model.encode(texts)
    assert facets.shape == (5, 3, 16)
    np.testing.assert_allclose(np.linalg.norm(facets, axis=-1), 1, atol=1e-5)
    for text, rows in zip(texts, facets, strict=True):
        np.testing.assert_allclose(model.encode([text])[0], rows, atol=1e-4)
    assert model.encode([]).shape == (0, 3, 16)


def test_a_gradient_reaches_every_parameter(tmp_path: Path) -> None:
    network = FacetNetwork(SHAPE)
    parts = losses(config(tmp_path), network, torch.from_numpy(WORDS.vectors), WordReader(WORDS), NEAR, 0)
    sum(parts.values()).backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_coefficients_of_training_are_those_of_the_scores() -> None:
    codebook, words = torch.randn(2, 3, 16), torch.randn(2, 4, 16)
    trained = nnsc(codebook, words, 0.4).numpy()
    np.testing.assert_allclose(trained, coefficients(codebook.numpy(), words.numpy(), 0.4), atol=0.05)


def test_draws_follow_from_seed_and_step() -> None:
    first, again, other = (draw(NEAR, 4, 2, 13, step) for step in (0, 0, 1))
    assert [row.tolist() for row in first[1]] == [row.tolist() for row in again[1]]
    assert [row.tolist() for row in first[0]] != [row.tolist() for row in other[0]]
    assert max(map(len, first[1])) == 2


def test_words_of_one_topic_are_nearest_and_learning_repeats_itself() -> None:
    rng = np.random.default_rng(3)
    topics = [[f"a{n}" for n in range(12)], [f"b{n}" for n in range(12)]]
    texts = [" ".join(rng.permutation(topics[number % 2])) for number in range(60)]
    shape = WordVectorShape(words=24, dim=2, fewest=0)
    vectors, again = (learn_word_vectors(texts, shape) for _ in range(2))
    np.testing.assert_array_equal(vectors.vectors, again.vectors)
    for word in ("a0", "b0"):
        ((_, *rest),) = vectors.nearest(vectors.vectors[vectors.ids([word])], 12)
        assert {name[0] for name, _ in rest} == {word[0]}
    with pytest.raises(InvalidInput, match="too few"):
        learn_word_vectors(["a b"], shape)


def test_words_of_an_encoder_are_its_means_on_their_principal_directions() -> None:
    reader = EncoderReader(HashingEncoder(dim=24))
    names = [f"w{number}" for number in range(40)]
    texts = [" ".join(names[:number]) for number in range(1, 41)]
    shape = WordVectorShape(words=30, dim=8)
    words, again = (encode_word_vectors(texts, shape, reader) for _ in range(2))
    np.testing.assert_array_equal(words.vectors, again.vectors)
    assert words.words == tuple(names[:30])  # the most frequent first
    assert words.shares.tolist() == pytest.approx([(40 - place) / 820 for place in range(30)])
    means = np.stack([reader.vectors(reader.ids([name]))[0][0].mean(axis=0) for name in words.words]).astype(np.float64)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    left, strengths, _ = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    expected = left[:, :8] * strengths[:8]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(words.vectors @ words.vectors.T, expected @ expected.T, atol=1e-4)
    with pytest.raises(InvalidInput, match="24 dimensions, fewer than 25"):
        encode_word_vectors(texts, replace(shape, dim=25), reader)


def test_means_are_those_of_every_word_alone() -> None:
    reader = EncoderReader(HashingEncoder(dim=8))
    texts = ["one", "one two three", "", "four one"]
    alone = [reader.vectors(reader.ids([text]))[0][0] for text in texts]
    expected = [rows.mean(axis=0) if len(rows) else np.zeros(8) for rows in alone]
    np.testing.assert_allclose(mean_vectors(reader, texts), expected, atol=1e-6)
