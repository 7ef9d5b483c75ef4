"""SLICE training end to end on a tiny BERT with random weights: it learns, saves, reloads and repeats itself."""

import random
import re
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import load_artifact
from models.backbones.torch_network import load_backbone
from models.encoders.base import encode_queries
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch, InvalidInput
from research.training import curve
from research.training import slice as recipe
from research.training.batches import Shape, draw
from research.training.config import SliceConfig, Weights
from research.training.loop import Checkpoints, LoopHooks, Schedule, StepReport, fit
from research.training.losses import DistillationWeights
from research.training.objectives import Teachers, read_draw
from research.training.reading import Topics, alone
from research.training.slice import (
    Material,
    cosines_of,
    first_projection,
    fit_projection,
    load_teachers,
    step_losses,
    train_slice,
    trainable,
)
from research.training.sources import GradedPair
from research.training.texts import Texts
from tests.research.training.conftest import tiny_config
from tests.tiny_bert import PROSE, fit_briefly

PAIRS = [GradedPair("the cat sat", "a cat was seen", 0.8), GradedPair("rain fell", "the door stood open", 0.1)]
MATERIAL = Material(Texts({"novels": [PROSE]}, {"short": ["the green door", "a dog barked"]}, PAIRS, {}))


def same_weights(one: Path, other: Path) -> bool:
    """Whether two folders hold the same bytes of weights."""
    return (one / "weights.safetensors").read_bytes() == (other / "weights.safetensors").read_bytes()


@pytest.fixture(scope="module")
def trained(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> SliceConfig:
    """A finished run, which tests only read."""
    folder = tmp_path_factory.mktemp("trained")
    # Fixtures of functions come after those of modules: what they set is set here as well.
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curve, "draw", lambda folder: None)
        patch.setattr("models.backbones.torch_network.has_native_bf16", lambda device: False)
        fit_briefly(patch)
        config = tiny_config(backbone, folder)
        train_slice(config, MATERIAL)
    return config


def test_a_gradient_reaches_every_layer_and_nothing_else(config: SliceConfig) -> None:
    student, teacher = load_backbone(config.backbone, device="cpu"), load_backbone(config.backbone, device="cpu")
    projection = torch.nn.Parameter(first_projection(teacher, MATERIAL, config))
    parameters = trainable(student) | {"projection": projection}
    losses = step_losses(student, Teachers(teacher, teacher), projection, MATERIAL, config, 0)
    torch.stack(list(losses.values())).sum().backward()
    # A key's bias shifts all scores of a query alike, so that softmax leaves it without a gradient.
    without = {name for name, p in parameters.items() if p.grad is None or not p.grad.abs().sum() > 0}
    assert all(name.endswith("attention.self.key.bias") for name in without)
    assert all(p.grad is None for name, p in student.model.named_parameters() if name not in parameters)
    assert all(p.grad is None for p in teacher.model.parameters())


def test_twins_are_the_phrases_of_the_contexts_alone(config: SliceConfig) -> None:
    student, teacher = load_backbone(config.backbone, device="cpu"), load_backbone(config.backbone, device="cpu")
    teachers = Teachers(teacher, teacher)
    projection = first_projection(teacher, MATERIAL, config)
    without = step_losses(student, teachers, projection, MATERIAL, config, 0)
    config = replace(config, weights=replace(config.weights, twins=20.0))
    assert step_losses(student, teachers, projection, MATERIAL, config, 0).keys() - without.keys() == {"twins"}
    drawn = draw(MATERIAL.texts, config.shape, config.seed, 0)
    read = read_draw(student, teachers, drawn, config, 0)
    phrases = [sample.phrase.of(sample.text) for sample in drawn.contexts]
    # The student has not learnt yet: it is the teacher.
    twins = torch.nn.functional.normalize(read.spans[read.of_twins], dim=-1)
    torch.testing.assert_close(twins, alone(teacher, phrases), atol=1e-5, rtol=0)


def test_it_overfits_one_batch(config: SliceConfig) -> None:
    student, teacher = load_backbone(config.backbone, device="cpu"), load_backbone(config.backbone, device="cpu")
    schedule = Schedule(steps=60, rate=3e-3)
    projection = first_projection(teacher, MATERIAL, config)
    fit(
        trainable(student),
        lambda _: step_losses(student, Teachers(teacher, teacher), projection, MATERIAL, config, 0),
        schedule,
        Checkpoints(config.checkpoints),
    )
    curve = np.genfromtxt(config.checkpoints / "loss.csv", delimiter=",", names=True)
    assert len(curve) == 60
    for name in ("distillation", "graded"):
        assert curve[name][-1] < 0.8 * curve[name][0]


def test_what_is_saved_is_what_was_learnt(trained: SliceConfig) -> None:
    config, artifact = trained, load_artifact(trained.out)
    assert artifact.config["steps"] == 8
    assert all(tensor.dtype == torch.float16 for tensor in artifact.tensors.values())
    learnt = SliceEncoder(load_backbone(config.backbone, device="cpu"), load_artifact(config.out))
    untrained = SliceEncoder(load_backbone(config.backbone, device="cpu"))
    assert learnt.fingerprint != untrained.fingerprint
    assert not np.allclose(encode_queries(learnt, ["the cat"]), encode_queries(untrained, ["the cat"]), atol=1e-3)
    again = SliceEncoder(load_backbone(config.backbone, device="cpu"), artifact)
    np.testing.assert_array_equal(encode_queries(learnt, ["the cat"]), encode_queries(again, ["the cat"]))


def test_a_run_begins_with_other_weights_and_leaves_the_lowest_layers_as_they_are(
    config: SliceConfig, trained: SliceConfig
) -> None:
    start = load_artifact(trained.out)
    again = replace(config, start=trained.out, frozen_layers=1)
    went_on = train_slice(again, MATERIAL)
    assert went_on.tensors.keys() == start.tensors.keys()
    same = {name for name, tensor in went_on.tensors.items() if torch.equal(tensor, start.tensors[name])}
    assert {name for name in start.tensors if name.startswith("encoder.layer.0.")} <= same
    assert "encoder.layer.1.output.dense.weight" not in same
    assert (went_on.config["start"], went_on.config["frozen_layers"]) == (start.sha256, 1)


def test_trained_weights_may_teach(config: SliceConfig, trained: SliceConfig) -> None:
    first = load_artifact(trained.out)
    taught = replace(config, teacher=trained.out)
    (phrase,) = alone(load_teachers(taught).spans, ["the cat sat"])
    (own,) = encode_queries(SliceEncoder(load_backbone(config.backbone, device="cpu"), first), ["the cat sat"])
    np.testing.assert_allclose(phrase, own, atol=1e-5)
    artifact = train_slice(taught, MATERIAL)
    assert artifact.config["teacher"] == first.sha256
    assert any(not torch.equal(tensor, first.tensors[name]) for name, tensor in artifact.tensors.items())


def test_short_texts_are_taught_by_the_backbone_whoever_teaches_the_rest(
    config: SliceConfig, trained: SliceConfig
) -> None:
    teachers = load_teachers(replace(config, teacher=trained.out))
    texts = ["the cat sat", "rain fell", "a dog barked"]
    cat, rain, dog = teachers.alone(texts, range(1, 2))
    torch.testing.assert_close(torch.stack([cat, dog]), alone(teachers.spans, ["the cat sat", "a dog barked"]))
    torch.testing.assert_close(rain[None], alone(teachers.short, ["rain fell"]))
    assert not torch.allclose(rain, alone(teachers.spans, ["rain fell"])[0], atol=1e-3)
    drawn = draw(MATERIAL.texts, config.shape, config.seed, 0)
    read = read_draw(load_backbone(config.backbone, device="cpu"), teachers, drawn, config, 0)
    # The student has not learnt yet, it is the backbone: short texts, the last of the draw, are right at once.
    spans = torch.nn.functional.normalize(read.spans, dim=-1)
    right = [bool((span @ wanted).item() > 1 - 1e-5) for span, wanted in zip(spans, read.taught, strict=True)]
    assert right[-len(drawn.short) :] == [True] * len(drawn.short)
    assert not all(right)


def test_phrases_are_set_into_contexts_of_their_topic_where_asked(
    config: SliceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    found = Topics.near

    def spy(self: Topics, phrase: str, rng: random.Random) -> str:
        drawn.append(found(self, phrase, rng))
        return drawn[-1]

    monkeypatch.setattr(Topics, "near", spy)
    near = replace(config, schedule=replace(config.schedule, steps=1))
    train_slice(replace(near, out=config.out / "far", checkpoints=config.checkpoints / "far"), MATERIAL)
    assert drawn == []
    train_slice(replace(near, shape=replace(config.shape, near=2)), MATERIAL)
    # Two in every step that is drawn: the one that is made, and those from which the projection begins and ends.
    assert len(drawn) >= 2
    assert len(drawn) % 2 == 0


def test_few_phrases_make_a_projection_of_as_many_dimensions(
    config: SliceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "NARROW", 12)
    monkeypatch.setattr(recipe, "_some_phrases", lambda *_: ["the cat sat", "rain fell", "a dog barked"])
    found = first_projection(load_backbone(config.backbone, device="cpu"), MATERIAL, config)
    torch.testing.assert_close(found.T @ found, torch.eye(12), atol=1e-5, rtol=0)


def test_the_projection_that_is_trained_along_makes_an_encoder_of_fewer_dimensions(
    config: SliceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "NARROW", 8)
    artifact = train_slice(config, MATERIAL)
    whole = SliceEncoder(load_backbone(config.backbone, device="cpu"), artifact)
    narrow = SliceEncoder(load_backbone(config.backbone, device="cpu"), artifact, projected=True)
    assert (whole.dim, narrow.dim) == (16, 8)
    assert whole.fingerprint != narrow.fingerprint
    (tokens,) = whole.tokenize(["the cat sat"])
    ((wide,),), ((few,),) = whole.forward([[tokens.ids]]), narrow.forward([[tokens.ids]])
    np.testing.assert_allclose(few, wide @ artifact.tensors["projection"].float().numpy(), atol=1e-5)


def test_the_projection_keeps_spans_as_alike_as_they_are() -> None:
    """Vectors that extend in a few directions lose nothing, whatever the projection begins with."""
    generator = torch.Generator().manual_seed(3)
    vectors = torch.randn(200, 3, generator=generator) @ torch.randn(3, 12, generator=generator)
    begin = torch.randn(12, 4, generator=generator)
    fitted = fit_projection(vectors, begin, seed=1, steps=400)
    before, after = (cosines_of(vectors @ p) - cosines_of(vectors) for p in (begin, fitted))
    assert before.abs().max() > 0.2
    assert after.abs().max() < 0.02
    once, again = (fit_projection(vectors, begin, seed=1, steps=5) for _ in range(2))
    assert torch.equal(once, again)


def test_weights_without_a_projection_give_no_encoder_of_fewer_dimensions(config: SliceConfig) -> None:
    with pytest.raises(BackboneMismatch, match="no projection"):
        SliceEncoder(load_backbone(config.backbone, device="cpu"), projected=True)


def test_the_projection_begins_where_the_teachers_vectors_extend_most(config: SliceConfig) -> None:
    teacher = load_backbone(config.backbone, device="cpu")
    directions = first_projection(teacher, MATERIAL, config).numpy()
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-4)
    vectors = alone(teacher, ["the green door", "a dog barked"]).numpy()
    kept = np.linalg.norm(vectors @ directions[:, :4], axis=1)
    dropped = np.linalg.norm(vectors @ directions[:, -4:], axis=1)
    assert (kept > dropped).all()


def test_a_run_that_was_killed_ends_with_the_same_weights(config: SliceConfig, trained: SliceConfig) -> None:
    def kill(report: StepReport) -> None:
        if report.step == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_slice(config, MATERIAL, LoopHooks(kill))
    train_slice(config, MATERIAL)
    assert same_weights(trained.out, config.out)
    assert len((config.checkpoints / "loss.csv").read_text().splitlines()) == 9


def test_another_seed_gives_other_weights(config: SliceConfig, trained: SliceConfig) -> None:
    train_slice(replace(config, seed=14), MATERIAL)
    assert not same_weights(trained.out, config.out)


def test_the_curve_drops_steps_that_are_made_again(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(2))

    def losses(step: int) -> dict[str, torch.Tensor]:
        if step == 3 and not (tmp_path / "again").exists():
            (tmp_path / "again").touch()
            raise KeyboardInterrupt
        return {"square": (weight**2).sum()}

    with pytest.raises(KeyboardInterrupt):
        fit({"weight": weight}, losses, Schedule(steps=5), Checkpoints(tmp_path, every=2))
    fit({"weight": weight}, losses, Schedule(steps=5), Checkpoints(tmp_path, every=2))
    steps = [line.split(",")[0] for line in (tmp_path / "loss.csv").read_text().splitlines()]
    assert steps == ["step", "0", "1", "2", "3", "4"]


def test_a_run_that_is_told_to_stop_saves_and_can_go_on(config: SliceConfig, trained: SliceConfig) -> None:
    seen: list[int] = []
    stopped = train_slice(config, MATERIAL, LoopHooks(lambda report: seen.append(report.step), lambda: len(seen) == 3))
    assert seen == [1, 2, 3]
    assert stopped.config["steps"] == 3
    train_slice(config, MATERIAL)
    assert same_weights(trained.out, config.out)


def test_a_finished_run_is_not_made_again_whatever_number_of_steps_is_asked_for(
    config: SliceConfig, trained: SliceConfig
) -> None:
    shutil.copytree(trained.checkpoints, config.checkpoints)
    first = load_artifact(trained.out)
    again = train_slice(replace(config, schedule=replace(config.schedule, steps=5)), MATERIAL)
    assert again.config["steps"] == 8
    torch.testing.assert_close(again.tensors, first.tensors, rtol=0, atol=0)


def test_the_checkpoint_of_another_run_is_refused(config: SliceConfig) -> None:
    train_slice(replace(config, schedule=replace(config.schedule, steps=1)), MATERIAL)
    other = replace(config, seed=14, weights=replace(config.weights, graded=0.5))
    with pytest.raises(InvalidInput, match="differs in: seed, weights") as error:
        train_slice(other, MATERIAL)
    assert error.value.field == "checkpoints"
    longer = train_slice(replace(config, schedule=replace(config.schedule, steps=2)), MATERIAL)
    assert longer.config["steps"] == 2


@pytest.mark.parametrize(("option", "kinds"), [("--draw", [Shape]), ("--weight", [Weights, DistillationWeights])])
def test_every_name_that_may_be_set_is_documented(option: str, kinds: list[type]) -> None:
    notes = (Path(__file__).parents[3] / "research" / "notes" / "cli.md").read_text("utf-8")
    section = notes.split("\n## spanseek train slice\n")[1].split("\n## ")[0]
    row = next(line for line in section.splitlines() if line.startswith(f"| `{option}`"))
    assert {field.name for kind in kinds for field in fields(kind)} <= set(re.findall(r"`(\w+)`", row))
