"""Restorable embeddings against loops: pooling, gates, cached generation, and a vocabulary that loses nothing."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.encoders.restorable.decoders import Gating, Source
from models.encoders.restorable.generation import GenerationLimits, Generator, generate
from models.encoders.restorable.network import RestorableNetwork
from models.encoders.restorable.reading import group, pad
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import BEGIN, END, Vocabulary

SHAPE = RestorableShape(vocabulary=40, dim=24, width=16, heads=2, hidden=32, stretch=4, vectors=3)
VOCABULARY = Vocabulary.learn(["a cat sat on a mat", "where is my parcel?"], 300)


def network_of(seed: int = 1, **options: object) -> RestorableNetwork:
    torch.manual_seed(seed)
    made = RestorableNetwork(replace(SHAPE, **options)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made


@given(text=st.text(max_size=40))
def test_the_vocabulary_loses_nothing(text: str) -> None:
    (ids,) = VOCABULARY.ids([text])
    assert ids[-1] == END
    assert VOCABULARY.text(ids) == text


@given(text=st.text(max_size=20), seed=st.integers(0, 9))
def test_tokens_join_to_the_text_and_the_least_certain_counts(text: str, seed: int) -> None:
    (ids,) = VOCABULARY.ids([text])
    sure = np.random.default_rng(seed).uniform(0.1, 1, len(ids))
    tokens = VOCABULARY.tokens(ids, sure)
    assert "".join(token.text for token in tokens) == text
    assert tokens[-1].text == ""  # the end
    assert min(token.confidence for token in tokens) == pytest.approx(sure.min())


def test_a_vector_is_what_a_loop_makes_of_the_tokens_and_padding_adds_nothing() -> None:
    network = network_of()
    rows = [np.array(row, np.int32) for row in ([5, 6, 7, 0], [8, 0], [9, 10, 0])]
    with torch.inference_mode():
        together = network.encode(*pad(rows))
        for row, vector in zip(rows, together, strict=True):
            ids, mask = pad([row])
            torch.testing.assert_close(network.encode(ids, mask)[0], vector, atol=1e-4, rtol=1e-4)
            hidden = network.embed(ids) * 4 + network.places[: len(row)]
            projected = network.project(network.norm(network.encoder(hidden)))[0]
            expected = torch.zeros(24)
            for place, of_token in enumerate(projected):
                expected += of_token * network.signs[place] / len(row) ** 0.5
            torch.testing.assert_close(vector, expected, atol=1e-4, rtol=1e-4)


def test_gates_are_equations_4_and_5() -> None:
    torch.manual_seed(3)
    layer = Gating(SHAPE, 0)
    hidden, vectors = torch.randn(2, 6, 16), torch.randn(2, 3, 24)
    stretches, signs = torch.arange(6) // 4, torch.randn(6, 24)
    made = layer(hidden, Source(vectors, torch.ones(2, 3, dtype=torch.bool), stretches, signs), None)
    whole = torch.cat([layer.gate_query.weight, layer.gate_vector.weight], dim=1)  # W2 of the paper
    for text in range(2):
        for place in range(6):
            vector = vectors[text, stretches[place]]
            queries = [layer.query(layer.norm(hidden[text, earlier])) for earlier in range(place + 1)]
            joined = torch.cat([sum(queries) / len(queries), vector])
            value, gate = (whole @ joined + layer.gate_query.bias).chunk(2)
            gated = (value * gate.clamp(min=0) + layer.unbind * signs[place]) * vector
            torch.testing.assert_close(made[text, place], layer.out(gated), atol=1e-4, rtol=1e-4)


def test_generation_with_a_cache_is_the_most_likely_token_of_a_whole_pass() -> None:
    network = network_of()
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


def test_a_gradient_reaches_every_parameter() -> None:
    network = network_of()
    rows = [np.array(row, np.int32) for row in ([5, 6, 7, 8], [9, 0], [10, 11, 0])]
    vectors, real = group(network.encode(*pad(rows)), [2, 1])
    texts = [np.array([5, 6, 7, 8, 9, 0], np.int32), np.array([10, 11, 0], np.int32)]
    inputs, mask = pad([np.append(np.int32(BEGIN), row[:-1]) for row in texts])
    targets, _ = pad(texts)
    torch.nn.functional.cross_entropy(network(inputs, vectors, real)[mask], targets[mask]).backward()
    without = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.abs().max()]
    assert without == []


def test_beams_find_texts_that_are_at_least_as_likely() -> None:
    network = network_of()
    vectors, real = group(torch.randn(4, 24), [1, 3])

    def likelihoods(beams: int) -> list[float]:
        _, sure = generate(Generator(network).eval(), vectors, real, GenerationLimits(1, beams))
        return sure[:, 0].tolist()

    assert all(more >= one - 1e-5 for one, more in zip(likelihoods(1), likelihoods(4), strict=True))


def test_generation_leaves_the_number_of_threads_as_it_was() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        vectors, real = group(torch.randn(1, 24), [1])
        generate(Generator(network_of()).eval(), vectors, real, GenerationLimits(2))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_no_run_of_tokens_comes_twice_where_repeats_are_limited() -> None:
    network = network_of(seed=2)
    with torch.no_grad():
        network.embed.weight[END] = 0
        network.scale.fill_(-50)  # the end is never likely
    vectors, real = group(torch.randn(2, 24), [1, 1])
    tokens, _ = generate(Generator(network).eval(), vectors, real, GenerationLimits(12, repeats=2))
    for row in tokens.tolist():
        pairs = [pair for pair in pairwise(row) if END not in pair]
        assert len(pairs) == len(set(pairs))
