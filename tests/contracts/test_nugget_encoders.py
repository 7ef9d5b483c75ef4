"""One suite for every nugget encoder, with weights and without."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import SHIPPED, Artifact, arrays_of, load_artifact, save_artifact
from models.backbones.opening import open_backbone
from models.backbones.torch_network import load_backbone
from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.nuggets.parts import foundation
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.encoders.nuggets.whitened import WhitenedNuggets, fit_whitening
from models.encoders.registry import EncoderOptions, load_encoder, load_nuggets
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch, BackboneMissing, InvalidInput
from models.ops.maxsim import maxsim
from models.ops.nuggets import count
from tests.tiny_bert import PROSE, save_tiny_bart, save_tiny_bert

TEXTS = ["the cat sat.", PROSE, "", "a dog"]
RATIOS = (0.05, 0.1, 0.25, 1.0)


def untrained(folder: Path, layer: int = 1) -> SliceNuggetEncoder:
    return SliceNuggetEncoder(SliceEncoder(load_backbone(str(folder), device="cpu")), layer=layer)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module", params=["hashing", "whitened", "bert", "bart"])
def encoder(request: pytest.FixtureRequest, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> NuggetEncoder:
    if request.param == "hashing":
        return load_nuggets("hashing")
    if request.param == "whitened":
        trained = load_nuggets("hashing")
        return WhitenedNuggets(trained, fit_whitening(trained, TEXTS, 0.25))
    return untrained(bert if request.param == "bert" else save_tiny_bart(tmp_path_factory.mktemp("bart")))


def tolerance() -> float:
    """Documents are read in bfloat16 where the processor multiplies it; queries never are."""
    capabilities = torch.cpu.get_capabilities()
    return 0.06 if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else 1e-4


def read(encoder: NuggetEncoder, texts: list[str], ratio: float) -> list:
    windows = [tokens.ids[: encoder.base.window] for tokens in encoder.base.tokenize(texts)]
    (found,) = encoder.forward([windows], ratio)
    return found


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_window_keeps_so_many_of_its_tokens(encoder: NuggetEncoder, ratio: float) -> None:
    for vectors, nuggets in read(encoder, TEXTS, ratio):
        assert len(nuggets) == count(len(vectors), ratio)
        assert nuggets.vectors.shape == (len(nuggets), encoder.dim)
        np.testing.assert_allclose(np.linalg.norm(nuggets.vectors, axis=1), 1, atol=1e-5)
        assert (np.diff(nuggets.tokens) > 0).all()
        assert ((nuggets.tokens >= 0) & (nuggets.tokens < len(vectors))).all()


def test_token_vectors_are_bit_for_bit_those_of_the_base(encoder: NuggetEncoder) -> None:
    windows = [tokens.ids for tokens in encoder.base.tokenize(TEXTS)]
    (alone,) = encoder.base.forward([windows])
    (together,) = encoder.forward([windows], 0.25)
    for one, (other, _) in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_highest_scores_are_kept_whatever_the_ratio(encoder: NuggetEncoder) -> None:
    (_, everything), *_ = read(encoder, [PROSE], 1.0)
    (_, few), *_ = read(encoder, [PROSE], 0.25)
    left = np.setdiff1d(everything.tokens, few.tokens)
    assert everything.scores[few.tokens].min() >= everything.scores[left].max()
    np.testing.assert_allclose(few.scores, everything.scores[few.tokens], atol=1e-6)


def test_batched_equals_one_by_one(encoder: NuggetEncoder) -> None:
    texts = [text for text in TEXTS if text]
    for text, (_, together) in zip(texts, read(encoder, texts, 0.25), strict=True):
        ((_, alone),) = read(encoder, [text], 0.25)
        np.testing.assert_array_equal(alone.tokens, together.tokens)
        np.testing.assert_allclose(alone.vectors, together.vectors, atol=1e-4)


def test_a_query_is_read_as_a_window_is(encoder: NuggetEncoder) -> None:
    texts = [text for text in TEXTS if text]
    windows = [tokens.ids[: encoder.base.window] for tokens in encoder.base.tokenize(texts)]
    for nuggets, (_, expected) in zip(encoder.forward_query(windows, 0.25), read(encoder, texts, 0.25), strict=True):
        np.testing.assert_array_equal(nuggets.tokens, expected.tokens)
        np.testing.assert_allclose(nuggets.vectors, expected.vectors, atol=tolerance())
        np.testing.assert_allclose(nuggets.scores, expected.scores, atol=tolerance())


@pytest.mark.parametrize("ratio", [0, -0.1, 1.01, float("nan")])
def test_other_ratios_are_refused(encoder: NuggetEncoder, ratio: float) -> None:
    with pytest.raises(InvalidInput) as caught:
        next(iter(encoder.forward([], ratio)))
    assert caught.value.field == "nugget_ratio"


@pytest.fixture
def weights(bert: Path, tmp_path: Path) -> Path:
    """Weights as a training would save them, with other type embeddings than those it begins with."""
    encoder = untrained(bert)
    torch.manual_seed(3)
    tensors = {name: p + 0.1 * torch.randn_like(p) for name, p in encoder.network.named_parameters()}
    facts = {"layer": 1, "feedback": True, "foundation_sha256": foundation(encoder.base.backbone, 1)}
    save_artifact(tmp_path / "nugget", tensors, facts)
    return tmp_path / "nugget"


def test_weights_are_loaded(bert: Path, weights: Path) -> None:
    options = EncoderOptions(str(bert), None, "cpu", weights)
    trained = load_nuggets("untrained", options)
    again = load_nuggets("untrained", options)
    assert trained.fingerprint == again.fingerprint != untrained(bert).fingerprint
    ((_, one),), ((_, same),), ((_, other),) = (read(e, [PROSE], 0.25) for e in (trained, again, untrained(bert)))
    np.testing.assert_array_equal(one.vectors, same.vectors)
    assert len(one) == len(other)
    assert np.abs(one.vectors - other.vectors).max() > 0.01


@pytest.fixture
def gathered(bert: Path) -> Artifact:
    """Weights whose upper layers are the encoder's own, with another projection; they do not say how to gather."""
    network = SliceNuggetEncoder(SliceEncoder(load_backbone(str(bert), device="cpu")), layer=1).network
    torch.manual_seed(4)
    tensors = {name: p.detach().clone() for name, p in network.named_parameters() if name != "types"}
    tensors["value.weight"] = torch.randn_like(tensors["value.weight"])
    found = foundation(load_backbone(str(bert), device="cpu"), 1)
    return Artifact(arrays_of(tensors), {"layer": 1, "feedback": False, "foundation_sha256": found}, "0" * 64)


def with_gather(bert: Path, artifact: Artifact, gather: str) -> SliceNuggetEncoder:
    config = artifact.config | {"gather": gather}
    return SliceNuggetEncoder(SliceEncoder(load_backbone(str(bert), device="cpu")), replace(artifact, config=config))


@pytest.mark.parametrize("ratio", RATIOS)
def test_gathered_by_segment_a_nugget_is_the_projected_mean_of_its_segment(
    bert: Path, gathered: Artifact, ratio: float
) -> None:
    encoder = with_gather(bert, gathered, "segment")
    value = gathered.tensors["value.weight"].numpy()
    windows = [tokens.ids for tokens in encoder.base.tokenize(TEXTS)]
    (alone,) = encoder.base.forward([windows])
    for own, (vectors, nuggets) in zip(alone, read(encoder, TEXTS, ratio), strict=True):
        np.testing.assert_array_equal(own, vectors)
        assert len(nuggets) == count(len(vectors), ratio)
        assert nuggets.tokens[-1:].tolist() == [len(vectors) - 1][: len(nuggets)]
        start = 0
        for token, vector in zip(nuggets.tokens, nuggets.vectors, strict=True):
            expected = value @ (sum(vectors[start : token + 1]) / (token + 1 - start))
            np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-4)
            start = token + 1


def test_weights_that_do_not_say_how_to_gather_gather_tokens(bert: Path, gathered: Artifact) -> None:
    encoder = SliceNuggetEncoder(SliceEncoder(load_backbone(str(bert), device="cpu")), gathered)
    ((vectors, nuggets),) = read(encoder, [PROSE], 0.25)
    expected = vectors[nuggets.tokens] @ gathered.tensors["value.weight"].numpy().T
    np.testing.assert_allclose(nuggets.vectors, expected / np.linalg.norm(expected, axis=1)[:, None], atol=1e-4)
    ((_, same),) = read(with_gather(bert, gathered, "token"), [PROSE], 0.25)
    np.testing.assert_array_equal(nuggets.vectors, same.vectors)


def test_an_unknown_way_to_gather_is_refused(bert: Path, gathered: Artifact) -> None:
    with pytest.raises(InvalidInput, match="'sentence'") as caught:
        with_gather(bert, gathered, "sentence")
    assert caught.value.field == "gather"


def test_weights_on_other_bottom_layers_are_refused_but_not_on_other_upper_ones(bert: Path, weights: Path) -> None:
    artifact = load_artifact(weights)
    for layer, fits in ((1, True), (0, False)):
        base = SliceEncoder(load_backbone(str(bert), device="cpu"))
        with torch.no_grad():
            base.backbone.model.encoder.layer[layer].output.dense.bias += 1
        if fits:
            assert SliceNuggetEncoder(base, artifact).layer == 1
            continue
        with pytest.raises(BackboneMismatch, match="other layers") as caught:
            SliceNuggetEncoder(base, artifact)
        assert caught.value.hint


@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("gather", ["token", "segment"])
def test_queries_are_read_without_torch_as_with_it(
    bert: Path, weights: Path, monkeypatch: pytest.MonkeyPatch, feedback: bool, gather: str
) -> None:
    found = load_artifact(weights)
    arrays = {name: array for name, array in found.arrays.items() if feedback or name != "types"}
    artifact = Artifact(arrays, found.config | {"feedback": feedback, "gather": gather, "spacing": 0.5}, "0" * 64)
    light = SliceNuggetEncoder(SliceEncoder(open_backbone(str(bert))), artifact)
    heavy = SliceNuggetEncoder(SliceEncoder(load_backbone(str(bert), device="cpu")), artifact)
    monkeypatch.setattr(heavy.base.backbone, "precision", nullcontext)
    assert light.fingerprint == heavy.fingerprint
    windows = [tokens.ids for tokens in light.base.tokenize([PROSE, "a dog", "the cat sat."])]
    ((expected),) = heavy.forward([windows], 0.25)
    for nuggets, (_, other) in zip(light.forward_query(windows, 0.25), expected, strict=True):
        np.testing.assert_array_equal(nuggets.tokens, other.tokens)
        np.testing.assert_allclose(nuggets.vectors, other.vectors, atol=1e-5)
        np.testing.assert_allclose(nuggets.scores, other.scores, atol=1e-4)
    assert not light.base.has_network


def test_weights_of_another_shape_are_refused(bert: Path, weights: Path) -> None:
    artifact = load_artifact(weights)
    base = SliceEncoder(load_backbone(str(bert), device="cpu"))
    less = {name: array for name, array in artifact.arrays.items() if name != "types"}
    with pytest.raises(BackboneMismatch, match="do not fit"):
        SliceNuggetEncoder(base, replace(artifact, arrays=less))
    with pytest.raises(BackboneMismatch, match="layers above"):
        untrained(bert, layer=2)


def test_without_weights_there_are_no_nuggets(bert: Path, tmp_path: Path) -> None:
    options = EncoderOptions(str(bert), None, "cpu", tmp_path)
    with pytest.raises(BackboneMissing):
        load_nuggets("untrained", options)


@pytest.fixture(scope="module")
def shipped() -> NuggetEncoder:
    options = EncoderOptions(device="cpu")
    return load_nuggets("slice", options)


@pytest.mark.parametrize("ratio", [0.05, 0.1, 0.25])
@pytest.mark.ci("reads the shipped weights")
def test_with_the_shipped_weights_token_vectors_stay_those_of_slice(shipped: NuggetEncoder, ratio: float) -> None:
    windows = [tokens.ids[: shipped.base.window] for tokens in shipped.base.tokenize([*TEXTS, 20 * PROSE])]
    (alone,) = load_encoder("slice", EncoderOptions(device="cpu")).forward([windows])
    (together,) = shipped.forward([windows], ratio)
    for one, (other, nuggets) in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
        assert len(nuggets) == count(len(one), ratio)


@pytest.mark.parametrize("ratio", [0.05, 0.1, 0.25])
def test_the_shipped_weights_know_what_says_the_same(shipped: NuggetEncoder, ratio: float) -> None:
    texts = [
        "The tenant may end the lease at any time. Three months before, the landlord has to be told in writing.",
        "At whatever moment the renter wishes, he can leave. He must write to the owner a quarter of a year ahead.",
        "The tenant must pay the landlord every month. A lease in writing is needed three days before the keys are.",
        "Simmer the beans for two hours. Add salt and a little vinegar in the end.",
    ]
    own, same, words, other = (nuggets.vectors for _, nuggets in read(shipped, texts, ratio))
    likeness = [maxsim(own, vectors).score for vectors in (same, words, other)]
    assert likeness[0] > likeness[2] + 0.1
    assert likeness[1] > likeness[2]


def test_the_shipped_weights_are_small_half_precision_and_say_where_they_come_from() -> None:
    folder = SHIPPED / "nugget"
    artifact = load_artifact(folder)
    assert (folder / "weights.safetensors").stat().st_size <= 15_000_000
    assert {tensor.dtype for tensor in artifact.tensors.values()} == {torch.float16}
    card = (folder / "MODEL_CARD.md").read_text("utf-8")
    assert str(artifact.config["foundation_sha256"]) in card
    assert all(licence in card for sources in artifact.config["data"].values() for licence in sources.split(", "))


def test_the_shipped_weights_refuse_another_encoder() -> None:
    with pytest.raises(BackboneMismatch, match="other layers"):
        load_nuggets("untrained", EncoderOptions(device="cpu"))
