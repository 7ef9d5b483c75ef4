"""Training on what users bring, end to end on a tiny BERT: triplets alone, texts alone, and graded pairs in texts."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import load_artifact
from models.backbones.torch_network import load_backbone
from models.encoders.base import encode_queries, tokenize_units
from models.encoders.slice import SliceEncoder
from models.errors import InvalidInput
from models.ops.pooling import pool
from models.text.tokens import unit_shares
from models.types import SpanBounds
from research.training import curve
from research.training.config import SliceConfig
from research.training.loop import Checkpoints, Schedule, fit
from research.training.losses import SCALE
from research.training.objectives import Teachers, triplet_losses
from research.training.own_texts import Triplet
from research.training.slice import Material, read_material, step_losses, train_slice, trainable

TRIPLETS = [
    Triplet("the cat sat", "It was late, and a cat was seen.", "Rain fell, and the green door stood open."),
    Triplet("rain fell", "The dog barked, and rain fell", "nobody saw the cat"),
    Triplet("an open door", "The door, which was green, stood open.", "A dog barked. It was late."),
]
TEXTS = [
    "It was late, and nobody saw the cat. The door stood open.",
    "a dog barked",
    "Rain fell, and the door was green.",
]
PAIRS = [("the cat sat", "a cat was seen", 0.9), ("rain fell", "the door stood open", 0.1), ("a dog", "the cat", 0.4)]


@pytest.fixture
def bare(config: SliceConfig) -> SliceConfig:
    """A run without the known sets."""
    return replace(config, data=None, triplets_per_step=3)


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    path = tmp_path / "triplets.ndjson"
    lines = [{"query": t.query, "positive": t.positive, "negative": t.negative} for t in TRIPLETS]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.ndjson"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.ndjson"
    lines = [{"query": query, "paraphrase": other, "score": score} for query, other, score in PAIRS]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def best_by_loops(encoder: SliceEncoder, query: str, text: str, bounds: SpanBounds) -> float:
    (joined,) = tokenize_units(encoder, [text])
    ((vectors,),) = encoder.forward([[joined.tokens.ids]])
    units = pool(vectors, *unit_shares(joined, 0, len(joined)))
    (wanted,) = encode_queries(encoder, [query])
    best = -math.inf
    for start in range(len(units)):
        for end in range(start + 1, min(len(units), start + bounds.longest) + 1):
            span = units[start:end].sum(axis=0)
            best = max(best, float(span @ wanted / np.linalg.norm(span)))
    return best


def test_the_loss_of_triplets_is_the_papers_by_loops(bare: SliceConfig) -> None:
    config = replace(bare, bounds=SpanBounds(1, 4), weights=replace(bare.weights, triplets=2.0, narrow=0.25))
    backbone = load_backbone(config.backbone, device="cpu")
    encoder = SliceEncoder(backbone)
    expected = 0.0
    for triplet in TRIPLETS:
        true, false = (
            (1 + best_by_loops(encoder, triplet.query, text, config.bounds)) / 2
            for text in (triplet.positive, triplet.negative)
        )
        expected += -SCALE * true + math.log(math.exp(SCALE * true) + math.exp(SCALE * false))
    with torch.no_grad():
        losses = triplet_losses(backbone, TRIPLETS, torch.eye(16), config)
    assert losses["triplets"].item() == pytest.approx(2 * expected / 3, rel=1e-3)
    # A projection that leaves out no dimension changes no cosine.
    assert losses["narrow_triplets"].item() == pytest.approx(0.25 * losses["triplets"].item(), rel=1e-3)


def test_the_loss_of_whole_triplets_is_the_papers_of_their_means(bare: SliceConfig) -> None:
    config = replace(bare, weights=replace(bare.weights, triplets=0.0, whole_triplets=2.0, narrow=0.25))
    backbone = load_backbone(config.backbone, device="cpu")
    encoder = SliceEncoder(backbone)
    expected = 0.0
    for triplet in TRIPLETS:
        texts = [triplet.query, triplet.positive, triplet.negative]
        query, positive, negative = encode_queries(encoder, texts)
        expected += math.log1p(math.exp(SCALE * float(query @ negative - query @ positive) / 2))
    with torch.no_grad():
        losses = triplet_losses(backbone, TRIPLETS, torch.eye(16), config)
    assert losses.keys() == {"whole_triplets", "narrow_whole_triplets"}
    assert losses["whole_triplets"].item() == pytest.approx(2 * expected / 3, rel=1e-3)
    assert losses["narrow_whole_triplets"].item() == pytest.approx(0.25 * losses["whole_triplets"].item(), rel=1e-3)


def test_triplets_alone_lower_the_papers_loss(bare: SliceConfig, triplets: Path) -> None:
    config = replace(bare, triplets=triplets, schedule=Schedule(steps=60, rate=3e-3), save_every=60)
    artifact = train_slice(config)
    losses = curve.read_losses(config.checkpoints)
    assert losses.keys() == {"triplets", "narrow_triplets"}
    assert np.mean(losses["triplets"][-5:]) < 0.5 * np.mean(losses["triplets"][:5])
    assert artifact.config["data"] == {}
    assert artifact.config["own"] == {"triplets": "triplets.ndjson", "triplets_per_step": 3}
    trained = SliceEncoder(load_backbone(config.backbone, device="cpu"), load_artifact(config.out))
    for triplet in TRIPLETS:
        positive, negative = (
            best_by_loops(trained, triplet.query, text, config.bounds) for text in (triplet.positive, triplet.negative)
        )
        assert positive > negative


def test_graded_pairs_lower_their_losses(bare: SliceConfig, texts: Path, pairs: Path) -> None:
    config = replace(bare, texts=texts, pairs=pairs)
    student, teacher = (load_backbone(config.backbone, device="cpu") for _ in range(2))
    material, projection = read_material(config), torch.eye(16)[:, :8]
    fit(
        trainable(student),
        lambda _: step_losses(student, Teachers(teacher, teacher), projection, material, config, step=1),
        Schedule(steps=60, rate=3e-3),
        Checkpoints(config.checkpoints, every=60),
    )
    losses = curve.read_losses(config.checkpoints)
    for name in ("distillation", "graded"):
        assert losses[name][-1] < 0.8 * losses[name][0]


def test_a_run_does_not_go_on_with_other_pairs_in_the_same_file(bare: SliceConfig, texts: Path, pairs: Path) -> None:
    config = replace(bare, texts=texts, pairs=pairs)
    train_slice(replace(config, schedule=replace(config.schedule, steps=1)))
    pairs.write_text(pairs.read_text().splitlines()[0] + "\n")
    with pytest.raises(InvalidInput, match="differs in: contents"):
        train_slice(config)


def test_texts_alone_are_distilled(bare: SliceConfig, texts: Path) -> None:
    artifact = train_slice(replace(bare, texts=texts))
    assert curve.read_losses(bare.checkpoints).keys() == {"distillation", "narrow"}
    assert artifact.config["own"] == {"texts": "texts.ndjson"}
    assert "triplets" not in artifact.config["weights"]


def test_everything_together_repeats_itself_and_goes_on_after_a_stop(
    bare: SliceConfig, texts: Path, pairs: Path, triplets: Path
) -> None:
    config = replace(bare, texts=texts, pairs=pairs, triplets=triplets, schedule=Schedule(steps=4))
    train_slice(replace(config, schedule=replace(config.schedule, steps=2)))
    whole = replace(config, out=config.out / "whole", checkpoints=config.checkpoints / "whole")
    # What was planned decides the rate of a step, so only runs of the same plan end alike.
    first, second = train_slice(whole), train_slice(replace(whole, checkpoints=whole.checkpoints / "again"))
    assert first.sha256 == second.sha256
    assert train_slice(config).config["steps"] == 4
    assert len(curve.read_losses(config.checkpoints)) == 9


def test_own_pairs_join_those_that_are_not_excluded(
    bare: SliceConfig, texts: Path, pairs: Path, tmp_path: Path
) -> None:
    exclude = tmp_path / "heldout.tsv"
    exclude.write_text("\tline\tparaphrase\n1\tThe cat sat!\tnothing\n")
    material = read_material(replace(bare, texts=texts, pairs=pairs, exclude=exclude))
    assert [pair.query for pair in material.texts.pairs] == ["rain fell", "a dog"]
    assert "the cat sat" not in material.texts.phrases["own"]


def test_there_must_be_something_to_train_on(bare: SliceConfig, pairs: Path) -> None:
    with pytest.raises(InvalidInput, match="nothing to train on"):
        read_material(bare)
    with pytest.raises(InvalidInput, match="no texts to take these from") as error:
        read_material(replace(bare, pairs=pairs))
    assert error.value.field == "pairs"
    with pytest.raises(InvalidInput, match="it lacks the column 'line'"):
        read_material(replace(bare, texts=pairs, exclude=pairs))


def test_a_text_that_no_token_is_found_in_is_named_and_no_endless_search(bare: SliceConfig) -> None:
    student = load_backbone(bare.backbone, device="cpu")
    with pytest.raises(InvalidInput, match=r"holds no words that can be read: '\\u200b'"):
        triplet_losses(student, [Triplet("\u200b", "the cat", "rain")], torch.eye(16), bare)


def test_a_long_text_is_read_as_far_as_a_window_goes(bare: SliceConfig, tmp_path: Path) -> None:
    path = tmp_path / "long.ndjson"
    line = {"query": "the cat " * 200, "positive": "the cat " * 200, "negative": "rain fell " * 200}
    path.write_text(json.dumps(line) + "\n")
    assert train_slice(replace(bare, triplets=path, schedule=Schedule(steps=1))).config["steps"] == 1


def test_a_material_may_be_given(bare: SliceConfig, texts: Path) -> None:
    material = Material(read_material(replace(bare, texts=texts)).texts)
    assert train_slice(bare, material).config["steps"] == 8
