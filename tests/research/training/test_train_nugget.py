"""The nugget recipe on tiny networks: what learns, what is saved, and that a run can be gone on with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.artifacts import load_artifact, save_artifact
from models.backbones.layers import layers_of
from models.backbones.torch_network import load_backbone
from models.encoders.nuggets.network import start_network
from models.encoders.nuggets.parts import GATHERS, Gather
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch, InvalidInput
from models.types import JsonValue
from research.nugget_lm import selectors
from research.nugget_lm.nugget import NuggetDecoder
from research.training import nugget as recipe
from research.training import nugget_initialization as nugget_start
from research.training.config import NuggetConfig, NuggetWeights, Upper
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, StepReport, fit
from research.training.nugget import draw_step, frozen, read_material, start_decoder, train_nugget
from research.training.nugget_data import NuggetShape, NuggetTexts, Reader, Sections
from research.training.nugget_losses import NuggetStep, nugget_losses
from tests.tiny_bert import PROSE, save_tiny_bart

TEXTS = NuggetTexts({"novels": [PROSE] * 4}, [("the cat sat", "a cat was seen"), ("rain fell", "it was late")], {})
NONE = NuggetWeights(0, 0, 0, 0, 0)


@pytest.fixture
def nuggets(backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NuggetConfig:
    monkeypatch.setattr(nugget_start, "_SCORER_STEPS", 5)
    monkeypatch.setattr(recipe, "_FIRST_DRAWS", 2)
    monkeypatch.setattr(recipe, "_LAST_DRAWS", 2)
    return NuggetConfig(
        out=tmp_path / "weights",
        checkpoints=tmp_path / "checkpoints",
        backbone=str(backbone),
        device="cpu",
        layer=1,
        decoded=2,
        target_tokens=12,
        decoder_layers=1,
        save_every=3,
        lowest_ratio=0.2,
        highest_ratio=0.5,
        shape=NuggetShape(documents=4, of_pairs=1, places=1, fewest_words=10, most_words=20),
        schedule=Schedule(steps=6, rate=1e-3),
        weights=NuggetWeights(auto_encoding=0.1, translation=0.1),
    )


def parts(config: NuggetConfig) -> tuple[Reader, torch.nn.Module, Callable[[int], dict[str, torch.Tensor]]]:
    """What a run is made of: the reader, the decoder, and its losses by step."""
    backbone = frozen(config)
    network = start_network(backbone, config.layer, feedback=config.feedback, gather=config.gather)
    reader = Reader(backbone, network, selectors.named(config.selector, backbone), config.layer)
    decoder = start_decoder(config, backbone)
    spread = network.value.weight.detach().clone()

    def losses(step: int) -> dict[str, torch.Tensor]:
        rng = np.random.default_rng([config.seed, step])
        return nugget_losses(reader, decoder, spread, draw_step(backbone, TEXTS, config, step, rng), config, rng)

    return reader, decoder, losses


def without_gradient(module: torch.nn.Module) -> set[str]:
    return {name for name, p in module.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0}


@pytest.mark.parametrize("gather", GATHERS)
def test_a_gradient_reaches_all_that_learns_and_nothing_that_is_frozen(nuggets: NuggetConfig, gather: Gather) -> None:
    reader, decoder, losses = parts(replace(nuggets, gather=gather))
    torch.stack(list(losses(0).values())).sum().backward()
    # A key's bias shifts all scores of a query alike, so that softmax leaves it without a gradient.
    assert all(name.endswith("key.bias") for name in without_gradient(reader.network))
    assert all(name.endswith("key.bias") for name in without_gradient(decoder))
    assert all(p.grad is None for p in reader.backbone.model.parameters())


@pytest.mark.parametrize("gather", GATHERS)
@pytest.mark.parametrize("loss", ["contrastive", "auto_encoding", "translation", "boundaries"])
def test_the_scorer_learns_from_every_objective(nuggets: NuggetConfig, loss: str, gather: Gather) -> None:
    reader, _, losses = parts(replace(nuggets, gather=gather, weights=replace(NONE, **{loss: 1.0})))
    found = losses(0)
    assert list(found) == [loss]
    found[loss].backward()
    # What is added to all scores changes none of the shares they stand for.
    assert without_gradient(reader.network.scorer) <= {"2.bias"}


def test_segments_alone_leave_the_choice_as_it_is(nuggets: NuggetConfig) -> None:
    reader, _, losses = parts(replace(nuggets, weights=replace(NONE, segments=1.0)))
    losses(0)["segments"].backward()
    assert len(without_gradient(reader.network.scorer)) == 4
    assert (
        not without_gradient(reader.network)
        - {f"scorer.{n}.{p}" for n in (0, 2) for p in ("weight", "bias")}
        - {name for name in without_gradient(reader.network) if name.endswith("key.bias")}
    )


@pytest.mark.parametrize("delete", [0.0, 0.3])
def test_it_overfits_one_batch(nuggets: NuggetConfig, delete: float) -> None:
    config = replace(nuggets, delete=delete, weights=replace(nuggets.weights, auto_encoding=1.0))
    reader, decoder, losses = parts(config)
    parameters = dict(reader.network.named_parameters()) | {f"decoder.{n}": p for n, p in decoder.named_parameters()}
    fit(parameters, lambda _: losses(0), Schedule(steps=60, rate=3e-3), Checkpoints(config.checkpoints))
    curve = np.genfromtxt(config.checkpoints / "loss.csv", delimiter=",", names=True)
    # Segments begin where they are best, and give way to the others.
    for name in ("auto_encoding", "translation", "contrastive"):
        assert curve[name][-1] < 0.8 * curve[name][0], name


def encoder(config: NuggetConfig, artifact: object = None) -> SliceNuggetEncoder:
    base = SliceEncoder(load_backbone(config.backbone, device="cpu"))
    return SliceNuggetEncoder(base, artifact or load_artifact(config.out))


def vectors(nuggets: SliceNuggetEncoder) -> np.ndarray:
    (tokens,) = nuggets.base.tokenize([PROSE])
    (((_, found),),) = nuggets.forward([[tokens.ids]], 0.3)
    return found.vectors


def test_what_is_saved_is_what_was_learnt(nuggets: NuggetConfig) -> None:
    artifact = train_nugget(nuggets, TEXTS)
    assert artifact.config["steps"] == 6
    assert artifact.config["gather"] == encoder(nuggets).network.gather == "segment"
    assert all(tensor.dtype == torch.float16 for tensor in artifact.tensors.values())
    np.testing.assert_array_equal(vectors(encoder(nuggets)), vectors(encoder(nuggets, artifact)))
    untrained = SliceNuggetEncoder(SliceEncoder(load_backbone(nuggets.backbone, device="cpu")), layer=1)
    assert np.abs(vectors(encoder(nuggets)) - vectors(untrained)).max() > 0.01
    assert load_artifact(nuggets.out / "decoder").tensors


def test_a_run_that_was_killed_ends_with_the_same_weights(nuggets: NuggetConfig) -> None:
    def kill(report: StepReport) -> None:
        if report.step == 5:
            raise KeyboardInterrupt

    whole = replace(nuggets, out=nuggets.out / "whole", checkpoints=nuggets.checkpoints / "whole")
    expected = train_nugget(whole, TEXTS)
    with pytest.raises(KeyboardInterrupt):
        train_nugget(nuggets, TEXTS, LoopHooks(kill))
    assert train_nugget(nuggets, TEXTS).sha256 == expected.sha256
    other = replace(nuggets, seed=14, checkpoints=nuggets.checkpoints / "other", out=nuggets.out / "other")
    assert train_nugget(other, TEXTS).sha256 != expected.sha256


def test_a_run_begins_with_other_weights(nuggets: NuggetConfig) -> None:
    first = train_nugget(nuggets, TEXTS)
    again = replace(nuggets, out=nuggets.out / "on", checkpoints=nuggets.checkpoints / "on", start=nuggets.out)
    # A step that changes hardly anything leaves what it began with.
    went_on = train_nugget(replace(again, schedule=Schedule(steps=1, rate=1e-9)), TEXTS)
    assert went_on.config["start"] == first.sha256
    for name, tensor in first.tensors.items():
        torch.testing.assert_close(went_on.tensors[name], tensor, atol=1e-4, rtol=1e-3)


def test_steps_draw_articles_where_there_are_some(nuggets: NuggetConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(nuggets, shape=replace(nuggets.shape, documents=1, of_articles=2))
    with pytest.raises(InvalidInput, match="no articles"):
        train_nugget(config, TEXTS)
    drawn: list[int] = []

    def count_documents(
        reader: Reader, decoder: NuggetDecoder, spread: torch.Tensor, step: NuggetStep, *others: Any
    ) -> Losses:
        drawn.append(len(step.sources))
        return nugget_losses(reader, decoder, spread, step, *others)

    monkeypatch.setattr(recipe, "nugget_losses", count_documents)
    articles = [Sections("the cat sat", ["a cat was seen"]), Sections("rain fell", ["it was late"])]
    train_nugget(replace(config, schedule=Schedule(steps=2)), replace(TEXTS, articles=articles))
    assert drawn == [3, 3]


def test_a_run_begins_with_the_scorer_of_others_alone(nuggets: NuggetConfig, tmp_path: Path) -> None:
    first = train_nugget(replace(nuggets, gather="token"), TEXTS)
    still = replace(nuggets, schedule=Schedule(steps=1, rate=0.0), checkpoints=tmp_path / "2", out=tmp_path / "second")
    second = train_nugget(replace(still, scorer=nuggets.out), TEXTS)
    assert second.config["scorer"] == first.sha256
    alike = {name for name, tensor in second.tensors.items() if torch.equal(tensor, first.tensors[name])}
    assert {name for name in first.tensors if name.startswith("scorer.")} <= alike
    assert "value.weight" not in alike
    layers = dict(start_network(frozen(nuggets), nuggets.layer).layers.named_parameters(prefix="layers"))
    for name, parameter in layers.items():
        torch.testing.assert_close(second.tensors[name].float(), parameter.detach(), atol=1e-3, rtol=1e-3)


def test_upper_layers_of_the_untrained_backbone(nuggets: NuggetConfig, tmp_path: Path) -> None:
    """SLICE weights in which every layer is another; a run that learns nothing has layers of either."""
    plain = load_backbone(nuggets.backbone, device="cpu")
    tensors = {name: parameter.detach() + 0.5 for name, parameter in plain.model.named_parameters() if "layer." in name}
    facts: dict[str, JsonValue] = {"backbone_sha256": plain.weights_sha256}
    save_artifact(tmp_path / "of slice", tensors, facts)
    still = replace(nuggets, weights_of_slice=tmp_path / "of slice", schedule=Schedule(steps=1, rate=0.0))
    uppers: tuple[Upper, ...] = ("slice", "backbone")
    made = {
        upper: train_nugget(
            replace(still, upper=upper, out=tmp_path / upper, checkpoints=tmp_path / f"{upper}-run"), TEXTS
        )
        for upper in uppers
    }
    last = layers_of(plain.model)[-1].state_dict()
    name, begun = next(iter(last.items()))
    place = f"layers.{len(layers_of(plain.model)) - nuggets.layer - 1}.{name}"
    torch.testing.assert_close(made["backbone"].tensors[place].float(), begun, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(made["slice"].tensors[place].float(), begun + 0.5, atol=1e-3, rtol=1e-3)


def test_weights_on_other_layers_are_no_beginning(nuggets: NuggetConfig, tmp_path: Path) -> None:
    train_nugget(nuggets, TEXTS)
    other = replace(nuggets, start=nuggets.out, backbone=str(save_tiny_bart(tmp_path / "bart")))
    with pytest.raises(BackboneMismatch, match="other layers"):
        train_nugget(replace(other, out=tmp_path / "out", checkpoints=tmp_path / "checkpoints of bart"), TEXTS)


def test_the_checkpoint_of_another_run_is_refused(nuggets: NuggetConfig) -> None:
    train_nugget(nuggets, TEXTS)
    with pytest.raises(InvalidInput, match="differs in: temperature"):
        train_nugget(replace(nuggets, temperature=0.1), TEXTS)


@pytest.mark.parametrize("selector", ["chunk", "sentence_boundary"])
def test_rules_choose_in_training_and_afterwards(nuggets: NuggetConfig, selector: str) -> None:
    train_nugget(replace(nuggets, selector=selector), TEXTS)
    with pytest.raises(BackboneMismatch, match=f"by the rule {selector}"):
        encoder(nuggets)
    base = SliceEncoder(load_backbone(nuggets.backbone, device="cpu"))
    rule = selectors.named(selector, base.files)
    trained = SliceNuggetEncoder(base, load_artifact(nuggets.out), selectors=rule)
    (tokens,) = trained.base.tokenize([PROSE])
    (((_, few),),), (((_, many),),) = (trained.forward([[tokens.ids]], ratio) for ratio in (0.1, 0.4))
    ends = [n for n, (start, end) in enumerate(tokens.spans.tolist()) if PROSE[start:end] in ".,"]
    assert set(few.tokens) <= {*ends, len(tokens) - 1}
    assert (len(few) == len(many)) == (selector == "sentence_boundary")


def test_an_encoder_decoder_gives_its_encoder(nuggets: NuggetConfig, tmp_path: Path) -> None:
    config = replace(nuggets, backbone=str(save_tiny_bart(tmp_path / "bart")))
    artifact = train_nugget(config, TEXTS)
    assert np.isfinite(vectors(encoder(config, artifact))).all()


def test_without_feedback_the_types_are_not_learnt(nuggets: NuggetConfig) -> None:
    config = replace(nuggets, feedback=False)
    reader, _, losses = parts(config)
    torch.stack(list(losses(0).values())).sum().backward()
    assert "types" not in dict(reader.network.named_parameters())
    assert encoder(config, train_nugget(config, TEXTS)).network.feedback is False


def test_aligned_texts_of_ones_own(nuggets: NuggetConfig, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("the cat sat\ta cat was seen\nrain fell\tit was late\n")
    config = replace(nuggets, pairs=tmp_path / "pairs.tsv")
    texts = read_material(config)
    assert texts.pairs == [("the cat sat", "a cat was seen"), ("rain fell", "it was late")]
    assert train_nugget(config, texts).config["own"] == {"pairs": "pairs.tsv"}


@pytest.mark.parametrize("text", ["", "one\n", "one\ttwo\tthree\n", "one\t \n"])
def test_what_is_not_aligned_is_refused(nuggets: NuggetConfig, tmp_path: Path, text: str) -> None:
    (tmp_path / "pairs.tsv").write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_material(replace(nuggets, pairs=tmp_path / "pairs.tsv"))
    assert caught.value.field == "pairs"


def test_nothing_to_train_on(nuggets: NuggetConfig) -> None:
    with pytest.raises(InvalidInput, match="nothing to train on"):
        read_material(nuggets)


def test_an_unknown_selector_is_refused(nuggets: NuggetConfig) -> None:
    with pytest.raises(InvalidInput, match="no selector"):
        train_nugget(replace(nuggets, selector="random"), TEXTS)
