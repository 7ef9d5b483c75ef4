"""SLICE training end to end on a tiny BERT with random weights: it learns, saves, reloads and repeats itself."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

from models.artifacts import load_artifact
from models.backbones import load_backbone
from models.encoders.base import encode_queries
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch
from models.training import slice as recipe
from models.training.data import Shape, Texts, draw
from models.training.loop import Schedule, fit
from models.training.slice import SliceConfig, alone, first_projection, step_losses, train_slice, trainable
from models.training.sources import GradedPair

PROSE = "It was late, and nobody saw the cat. The door, which was green, stood open. A dog barked, and rain fell."
PAIRS = [GradedPair("the cat sat", "a cat was seen", 0.8), GradedPair("rain fell", "the door stood open", 0.1)]
TEXTS = Texts({"novels": [PROSE]}, {"short": ["the green door", "a dog barked"]}, PAIRS, {})


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny-bert")
    words = sorted({word.strip(".,") for word in PROSE.lower().split()} | {"sat", "seen", "##s"})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ",", ".", ":", ";", '"', *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def config(backbone: Path, tmp_path: Path) -> SliceConfig:
    return SliceConfig(
        data=tmp_path,
        out=tmp_path / "weights",
        checkpoints=tmp_path / "checkpoints",
        backbone=str(backbone),
        device="cpu",
        save_every=4,
        shape=Shape(pairs=3, set_in_context=1, plain=1, alone=1),
        schedule=Schedule(steps=8, rate=1e-3),
    )


def test_a_gradient_reaches_every_layer_and_nothing_else(config: SliceConfig) -> None:
    student, teacher = load_backbone(config.backbone, device="cpu"), load_backbone(config.backbone, device="cpu")
    projection = torch.nn.Parameter(first_projection(teacher, TEXTS, config))
    parameters = trainable(student) | {"projection": projection}
    losses = step_losses(student, teacher, projection, draw(TEXTS, config.shape, 1, 0), config, 0)
    torch.stack(list(losses.values())).sum().backward()
    # A key's bias shifts all scores of a query alike, so that softmax leaves it without a gradient.
    without = {name for name, p in parameters.items() if p.grad is None or not p.grad.abs().sum() > 0}
    assert all(name.endswith("attention.self.key.bias") for name in without)
    assert all(p.grad is None for name, p in student.model.named_parameters() if name not in parameters)
    assert all(p.grad is None for p in teacher.model.parameters())


def test_it_overfits_one_batch(config: SliceConfig) -> None:
    student, teacher = load_backbone(config.backbone, device="cpu"), load_backbone(config.backbone, device="cpu")
    batch = draw(TEXTS, config.shape, 1, 0)
    schedule = Schedule(steps=60, rate=3e-3)
    projection = first_projection(teacher, TEXTS, config)
    fit(
        trainable(student),
        lambda _: step_losses(student, teacher, projection, batch, config, 0),
        schedule,
        config.checkpoints,
    )
    curve = np.genfromtxt(config.checkpoints / "loss.csv", delimiter=",", names=True)
    assert len(curve) == 60
    for name in ("distillation", "graded"):
        assert curve[name][-1] < 0.8 * curve[name][0]


def test_what_is_saved_is_what_was_learnt(config: SliceConfig) -> None:
    artifact = train_slice(config, TEXTS)
    assert artifact.config["steps"] == 8
    assert all(tensor.dtype == torch.float16 for tensor in artifact.tensors.values())
    trained = SliceEncoder(load_backbone(config.backbone, device="cpu"), load_artifact(config.out))
    untrained = SliceEncoder(load_backbone(config.backbone, device="cpu"))
    assert trained.fingerprint != untrained.fingerprint
    assert not np.allclose(encode_queries(trained, ["the cat"]), encode_queries(untrained, ["the cat"]), atol=1e-3)
    again = SliceEncoder(load_backbone(config.backbone, device="cpu"), artifact)
    np.testing.assert_array_equal(encode_queries(trained, ["the cat"]), encode_queries(again, ["the cat"]))


def test_the_projection_that_is_trained_along_makes_an_encoder_of_fewer_dimensions(
    config: SliceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "NARROW", 8)
    artifact = train_slice(config, TEXTS)
    whole = SliceEncoder(load_backbone(config.backbone, device="cpu"), artifact)
    narrow = SliceEncoder(load_backbone(config.backbone, device="cpu"), artifact, projected=True)
    assert (whole.dim, narrow.dim) == (16, 8)
    assert whole.fingerprint != narrow.fingerprint
    (tokens,) = whole.tokenize(["the cat sat"])
    ((wide,),), ((few,),) = whole.forward([[tokens.ids]]), narrow.forward([[tokens.ids]])
    np.testing.assert_allclose(few, wide @ artifact.tensors["projection"].float().numpy(), atol=1e-5)


def test_weights_without_a_projection_give_no_encoder_of_fewer_dimensions(config: SliceConfig) -> None:
    with pytest.raises(BackboneMismatch, match="no projection"):
        SliceEncoder(load_backbone(config.backbone, device="cpu"), projected=True)


def test_the_projection_begins_where_the_teachers_vectors_extend_most(config: SliceConfig) -> None:
    teacher = load_backbone(config.backbone, device="cpu")
    directions = first_projection(teacher, TEXTS, config).numpy()
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-4)
    vectors = alone(teacher, ["the green door", "a dog barked"]).numpy()
    kept = np.linalg.norm(vectors @ directions[:, :4], axis=1)
    dropped = np.linalg.norm(vectors @ directions[:, -4:], axis=1)
    assert (kept > dropped).all()


def test_a_run_that_was_killed_ends_with_the_same_weights(config: SliceConfig) -> None:
    def killed(step: int) -> None:
        if step == 4:
            raise KeyboardInterrupt

    whole = train_slice(replace(config, out=config.out / "whole", checkpoints=config.checkpoints / "whole"), TEXTS)
    with pytest.raises(KeyboardInterrupt):
        train_slice(config, TEXTS, after_save=killed)
    resumed = train_slice(config, TEXTS)
    assert whole.sha256 == resumed.sha256
    assert len((config.checkpoints / "loss.csv").read_text().splitlines()) == 9


def test_another_seed_gives_other_weights(config: SliceConfig) -> None:
    first = train_slice(config, TEXTS)
    shutil.rmtree(config.checkpoints)
    second = train_slice(replace(config, seed=14), TEXTS)
    assert first.sha256 != second.sha256


def test_the_curve_drops_steps_that_are_made_again(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(2))

    def losses(step: int) -> dict[str, torch.Tensor]:
        if step == 3 and not (tmp_path / "again").exists():
            (tmp_path / "again").touch()
            raise KeyboardInterrupt
        return {"square": (weight**2).sum()}

    with pytest.raises(KeyboardInterrupt):
        fit({"weight": weight}, losses, Schedule(steps=5), tmp_path, save_every=2)
    fit({"weight": weight}, losses, Schedule(steps=5), tmp_path, save_every=2)
    steps = [line.split(",")[0] for line in (tmp_path / "loss.csv").read_text().splitlines()]
    assert steps == ["step", "0", "1", "2", "3", "4"]
