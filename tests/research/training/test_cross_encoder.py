"""The cross-encoder: it learns from pairs, is symmetric in their texts, and an interrupted run ends as any other."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import load_artifact, save_artifact
from models.backbones.torch_network import load_backbone
from models.errors import BackboneMismatch, InvalidInput
from research.training.cross_encoder import (
    CrossEncoder,
    CrossEncoderConfig,
    load_cross_encoder,
    pad_pairs,
    train_cross_encoder,
)
from research.training.loop import LoopHooks, Schedule
from research.training.pseudo_labels import PseudoLabeller, cosines_of
from research.training.sources import GradedPair, read_graded_pairs, read_held_out_pairs
from tests.tiny_bert import save_tiny_bert

ALIKE, UNLIKE = ("the cat sat", "a cat sat"), ("rain fell", "the door stood open")
GRADED = [(*ALIKE, 5.0), (*UNLIKE, 0.0), ("a dog barked", "the dog barked", 4.5), ("nobody saw", "a green door", 0.5)]


@pytest.fixture
def config(tmp_path: Path) -> CrossEncoderConfig:
    (tmp_path / "bert").mkdir()
    (tmp_path / "data/stsb").mkdir(parents=True)
    rows = "".join(f"main\tof\t2012\t{n}\t{score}\t{one}\t{other}\n" for n, (one, other, score) in enumerate(GRADED))
    with gzip.open(tmp_path / "data/stsb/sts-train.csv.gz", "wt") as file:
        file.write(rows)
    (tmp_path / "data/stsb/sts-dev.csv").write_text(rows)
    return CrossEncoderConfig(
        out=tmp_path / "cross-encoder",
        checkpoints=tmp_path / "runs",
        data=tmp_path / "data",
        backbone=str(save_tiny_bert(tmp_path / "bert")),
        device="cpu",
        of_a_step=3,
        save_every=4,
        schedule=Schedule(steps=30, rate=3e-3),
    )


def test_it_learns_what_people_graded(config: CrossEncoderConfig) -> None:
    artifact = train_cross_encoder(config)
    assert (artifact.config["recipe"], artifact.config["steps"], artifact.config["pairs"]) == (
        "cross-encoder.v1",
        30,
        4,
    )
    alike, unlike = load_cross_encoder(config.out, config.backbone, "cpu").scores([ALIKE, UNLIKE])
    assert alike > unlike + 0.3


def test_the_order_of_texts_and_of_pairs_does_not_matter(config: CrossEncoderConfig) -> None:
    train_cross_encoder(config)
    cross_encoder = load_cross_encoder(config.out, config.backbone, "cpu")
    pairs = [(one, other) for one, other, _ in GRADED] * 40
    grades = cross_encoder.scores(pairs)
    np.testing.assert_allclose(grades, cross_encoder.scores([pair[::-1] for pair in pairs]), atol=1e-6)
    np.testing.assert_allclose(grades[::-1], cross_encoder.scores(pairs[::-1]), atol=1e-6)
    np.testing.assert_allclose(grades[:1], cross_encoder.scores(pairs[:1]), atol=1e-5)


def test_an_interrupted_run_ends_as_one_that_was_not(config: CrossEncoderConfig, tmp_path: Path) -> None:
    config = replace(config, schedule=Schedule(steps=7, rate=1e-3))
    whole = train_cross_encoder(config)
    other = replace(config, out=tmp_path / "other", checkpoints=tmp_path / "cp")
    made = iter(range(3))
    stopped = train_cross_encoder(other, LoopHooks(stop=lambda: next(made) == 2))
    assert stopped.config["steps"] == 3
    resumed = train_cross_encoder(other)
    assert all(torch.equal(resumed.tensors[name], tensor) for name, tensor in whole.tensors.items())


def test_it_reads_which_text_is_which(config: CrossEncoderConfig) -> None:
    backbone = load_backbone(config.backbone, device="cpu")
    windows = CrossEncoder(backbone).windows([ALIKE, UNLIKE])
    ids, mask, kinds = pad_pairs(backbone, windows)
    assert kinds is not None
    separator, *_ = backbone.ids_of(["[SEP]"])
    for row, (one, other) in enumerate(windows):
        real = ids[row][mask[row]].tolist()
        assert real[1:] == [*one.tolist(), separator, *other.tolist(), separator]
        # The first separator belongs to the first text, the last to the second.
        assert kinds[row][mask[row]].tolist() == [0] * (len(one) + 2) + [1] * (len(other) + 1)


def test_long_texts_share_the_window(config: CrossEncoderConfig) -> None:
    backbone = load_backbone(config.backbone, device="cpu")
    ((one, other),) = CrossEncoder(backbone).windows([("cat " * 500, "rain")])
    assert len(one) == (backbone.window - 1) // 2
    assert len(other) == 1
    assert CrossEncoder(backbone)([(one, one)]).shape == (1,)


def test_other_weights_are_refused(config: CrossEncoderConfig, tmp_path: Path) -> None:
    save_artifact(tmp_path / "slice", {"projection": torch.eye(2)}, {"recipe": "slice.v1"})
    with pytest.raises(BackboneMismatch, match="not those of a cross-encoder"):
        load_cross_encoder(tmp_path / "slice", config.backbone, "cpu")


def test_a_checkpoint_of_another_run_is_refused(config: CrossEncoderConfig) -> None:
    train_cross_encoder(replace(config, schedule=Schedule(steps=1)))
    with pytest.raises(InvalidInput, match="differs in: of_a_step"):
        train_cross_encoder(replace(config, schedule=Schedule(steps=2), of_a_step=2))
    assert load_artifact(config.out).config["steps"] == 1


def test_cross_encoder_and_encoder_together_are_nearer_to_people_than_either(config: CrossEncoderConfig) -> None:
    train_cross_encoder(config)
    readers = [
        load_cross_encoder(config.out, config.backbone, "cpu").scores,
        cosines_of(load_backbone(config.backbone, device="cpu")),
    ]
    people = read_held_out_pairs(config.data)
    labeller = PseudoLabeller(readers, people)
    cross_encoder, encoder, both = labeller.correlations
    assert both >= max(cross_encoder, encoder) - 1e-9
    graded = labeller.label([ALIKE, UNLIKE])
    assert [(pair.query, pair.paraphrase) for pair in graded] == [ALIKE, UNLIKE]
    assert 0 <= graded[1].score < graded[0].score <= 1


def test_people_graded_from_0_to_5(config: CrossEncoderConfig) -> None:
    assert read_graded_pairs(config.data)[2] == GradedPair("a dog barked", "the dog barked", 0.9)
    assert len(read_held_out_pairs(config.data, ["The cat sat!"])) == 3
