"""Vectors in bfloat16 stay near those in float32, on processors that multiply it natively."""

import numpy as np
import pytest
import torch

import models.backbones.torch_network
from models.encoders.base import Encoder, encode_queries
from models.encoders.registry import load_encoder

TEXTS = ["the tenant must not sublet the premises", "I was charged twice this month", "the app crashes at start"]


def token_vectors(encoder: Encoder) -> list[np.ndarray]:
    (vectors,) = encoder.forward([[tokens.ids for tokens in encoder.tokenize(TEXTS)]])
    return vectors


def test_precision_is_single_in_tests() -> None:
    assert not models.backbones.torch_network.has_native_bf16(torch.device("cpu"))


@pytest.mark.native_precision
def test_native_bfloat16_keeps_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    if not models.backbones.torch_network.has_native_bf16(torch.device("cpu")):
        pytest.skip("this processor has no native bfloat16")
    encoder = load_encoder("slice")
    half = token_vectors(encoder)
    monkeypatch.setattr("models.backbones.torch_network.has_native_bf16", lambda device: False)
    single = token_vectors(load_encoder("slice"))
    for a, b in zip(half, single, strict=True):
        assert not np.array_equal(a, b)
        cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert cosines.min() > 0.999
    assert encode_queries(encoder, TEXTS).shape == (3, encoder.dim)
