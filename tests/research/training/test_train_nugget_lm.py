"""The recipe of the nugget language model on tiny networks: what learns, what is saved, what goes on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import load_artifact
from models.backbones.torch_network import load_backbone
from models.encoders.hashing import HashingEncoder
from models.encoders.nuggets.hashing import HashingNuggetEncoder
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch, InvalidInput
from research.nugget_lm import histories
from research.nugget_lm.histories import Kind, gather, kept_histories, read_histories
from research.nugget_lm.nugget_lm import LmShape, dim_of, load_language_model
from research.nugget_lm.segments import cut_segments
from research.nugget_lm.selectors import named
from research.training.loop import LoopHooks, Schedule, StepReport
from research.training.nugget_lm import (
    LmMaterial,
    NuggetLmConfig,
    lm_losses,
    read_lm_material,
    start_model,
    train_nugget_lm,
)
from tests.tiny_bert import PROSE

TEXTS = [PROSE, f"{PROSE} {PROSE}", "the cat sat"]


@pytest.fixture
def encoder(backbone: Path) -> SliceNuggetEncoder:
    return SliceNuggetEncoder(SliceEncoder(load_backbone(str(backbone), device="cpu")), layer=1)


@pytest.fixture
def lm(tmp_path: Path) -> NuggetLmConfig:
    return NuggetLmConfig(
        out=tmp_path / "weights",
        checkpoints=tmp_path / "checkpoints",
        cache=tmp_path / "cache",
        ratios=(0.2, 0.5),
        predicted=3,
        encoded=2,
        save_every=3,
        shape=LmShape(width=16, layers=1, heads=2, segment=8, history=3),
        schedule=Schedule(steps=6, rate=3e-3),
    )


def losses_of(config: NuggetLmConfig, encoder: SliceNuggetEncoder) -> tuple[torch.nn.Module, Callable]:
    backbone = encoder.base.backbone
    material = read_lm_material(config, encoder, TEXTS)
    model = start_model(config, backbone, encoder, material.counts)
    return model, lambda step: lm_losses(model, backbone, material, config, step)


@pytest.mark.parametrize("kinds", [("nuggets",), ("mean",), ("nuggets", "mean")])
def test_a_gradient_reaches_all_that_learns_and_nothing_else(
    lm: NuggetLmConfig, encoder: SliceNuggetEncoder, kinds: tuple[Kind, ...]
) -> None:
    model, losses = losses_of(replace(lm, kinds=kinds), encoder)
    torch.stack([loss for step in range(4) for loss in losses(step).values()]).sum().backward()
    without = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0}
    # A key's bias shifts all scores alike, and the tiny vocabulary has no rare words.
    assert all(name.endswith("key.bias") or name.startswith("predict.") for name in without)
    assert "predict.bias" not in without
    assert all(p.grad is None for p in encoder.base.backbone.model.parameters())
    assert all(p.grad is None for p in encoder.network.parameters())


def test_it_learns_to_say_texts_again(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    config = replace(lm, schedule=Schedule(steps=80, rate=1e-2))
    train_nugget_lm(config, encoder, TEXTS)
    curve = np.genfromtxt(config.checkpoints / "loss.csv", delimiter=",", names=True)
    for name in ("language", "auto_encoding"):
        assert curve[name][-10:].mean() < 0.7 * curve[name][:5].mean(), name


def test_what_is_saved_is_what_was_learnt(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    artifact = train_nugget_lm(lm, encoder, TEXTS)
    assert (artifact.config["steps"], artifact.config["ratios"]) == (6, [0.2, 0.5])
    model = load_language_model(load_artifact(lm.out), encoder)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter, artifact.tensors[name].float())
    fresh, _ = losses_of(lm, encoder)
    changed = (fresh.leave.weight - model.leave.weight).abs().max()
    assert changed > 1e-3


def test_a_run_that_was_killed_ends_with_the_same_weights(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    def kill(report: StepReport) -> None:
        if report.step == 5:
            raise KeyboardInterrupt

    whole = replace(lm, out=lm.out / "whole", checkpoints=lm.checkpoints / "whole")
    expected = train_nugget_lm(whole, encoder, TEXTS)
    with pytest.raises(KeyboardInterrupt):
        train_nugget_lm(lm, encoder, TEXTS, LoopHooks(kill))
    assert train_nugget_lm(lm, encoder, TEXTS).sha256 == expected.sha256
    other = replace(lm, seed=14, out=lm.out / "other", checkpoints=lm.checkpoints / "other")
    assert train_nugget_lm(other, encoder, TEXTS).sha256 != expected.sha256


def test_the_checkpoint_of_another_run_is_refused(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    train_nugget_lm(lm, encoder, TEXTS)
    with pytest.raises(InvalidInput, match="differs in: kinds"):
        train_nugget_lm(replace(lm, kinds=("mean",)), encoder, TEXTS)


def test_kinds_take_turns_on_the_same_segments(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    config = replace(lm, kinds=("nuggets", "mean"))
    material = read_lm_material(config, encoder, TEXTS)
    alike = replace(material, histories=dict.fromkeys(config.kinds, material.histories["nuggets"]))
    model = start_model(config, encoder.base.backbone, encoder, material.counts)

    def losses(read: LmMaterial) -> list[list[float]]:
        made = (lm_losses(model, encoder.base.backbone, read, config, step) for step in range(4))
        return [[float(loss.detach()) for loss in found.values()] for found in made]

    first, second, third, _ = losses(alike)
    assert first == second != third
    assert losses(material)[::2] == [first, third]
    assert losses(material)[1] != second


def test_one_decoder_does_not_read_vectors_of_different_length() -> None:
    narrow = HashingNuggetEncoder(HashingEncoder())
    narrow.dim = narrow.base.dim + 1
    assert dim_of(narrow, ["mean"]) == narrow.base.dim
    with pytest.raises(InvalidInput, match="different length"):
        dim_of(narrow, ["nuggets", "mean"])


def test_without_auto_encoding_only_language_is_learnt(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    assert losses_of(replace(lm, encoded=0), encoder)[1](0).keys() == {"language"}
    assert losses_of(replace(lm, predicted=0), encoder)[1](0).keys() == {"auto_encoding"}


@pytest.mark.parametrize(("places", "told"), [(False, set()), (True, {"itself"})])
def test_the_place_of_a_nugget_is_told_of_the_text_itself_alone(
    lm: NuggetLmConfig, encoder: SliceNuggetEncoder, places: bool, told: set[str]
) -> None:
    config = replace(lm, shape=replace(lm.shape, places=places))
    model, _ = losses_of(config, encoder)
    histories = read_lm_material(config, encoder, TEXTS).histories["nuggets"]
    given = torch.zeros(1, 4, dtype=torch.long)
    moved = set()
    for name, now in {"itself": 0, "before": 1}.items():
        read = gather(histories, [[0]], [now])
        elsewhere = replace(read, places=(read.places + 1) % config.shape.segment)
        if not torch.allclose(model.states(given, read), model.states(given, elsewhere)):
            moved.add(name)
        nowhere = replace(read, places=torch.full_like(read.places, -1))
        assert torch.isfinite(model.states(given, nowhere)).all()
    assert moved == told


def test_the_model_of_another_encoder_is_refused(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    artifact = train_nugget_lm(lm, encoder, TEXTS)
    other = SliceNuggetEncoder(encoder.base, layer=1, selectors=named("chunk", encoder.base.files))
    with pytest.raises(BackboneMismatch, match="not of nugget"):
        load_language_model(artifact, other)


def test_an_encoder_without_words_is_refused(lm: NuggetLmConfig) -> None:
    with pytest.raises(BackboneMismatch, match="no word embeddings"):
        train_nugget_lm(lm, HashingNuggetEncoder(HashingEncoder()), TEXTS)


def test_nothing_to_train_on(lm: NuggetLmConfig, encoder: SliceNuggetEncoder) -> None:
    with pytest.raises(InvalidInput, match="nothing to train on"):
        train_nugget_lm(lm, encoder, ["", " "])


def test_what_was_read_before_is_read_from_its_file(
    lm: NuggetLmConfig, encoder: SliceNuggetEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = encoder.base.backbone
    segments = cut_segments(backbone.tokenize(TEXTS), 8, backbone.unknown)
    first = kept_histories(encoder, segments, (0.2, 0.5), lm.cache)
    (file,) = lm.cache.iterdir()
    monkeypatch.setattr(histories, "read_histories", lambda *given: pytest.fail("it was read again"))
    again = kept_histories(encoder, segments, (0.2, 0.5), lm.cache)
    assert list(lm.cache.iterdir()) == [file]
    for kind, found in first.items():
        np.testing.assert_allclose(found.vectors, again[kind].vectors, atol=1e-3)
        np.testing.assert_array_equal(found.tokens, again[kind].tokens)
    with pytest.raises(pytest.fail.Exception, match="read again"):
        kept_histories(encoder, segments, (0.2,), lm.cache)


def test_ratios_take_turns_and_every_segment_is_read_on_its_own(encoder: SliceNuggetEncoder) -> None:
    backbone = encoder.base.backbone
    segments = cut_segments(backbone.tokenize(TEXTS), 8, backbone.unknown)
    found = read_histories(encoder, segments, (0.2, 1.0))
    for number, window in enumerate(segments.windows):
        (((vectors, nuggets),),) = encoder.forward([[window]], (0.2, 1.0)[number % 2])
        np.testing.assert_allclose(found["nuggets"].of(number), nuggets.vectors, atol=1e-5)
        np.testing.assert_array_equal(found["nuggets"].places(number), nuggets.tokens)
        mean = vectors.mean(axis=0)
        np.testing.assert_allclose(found["mean"].of(number)[0], mean / np.linalg.norm(mean), atol=1e-5)
