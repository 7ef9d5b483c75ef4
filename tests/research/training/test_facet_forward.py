"""Facets on arrays are those of the network that is trained."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.artifacts import arrays_of
from research.training.facet_network import FacetNetwork
from spanseek_facets.forward import FacetEncoder, FacetShape, run_facets
from tests.examples import examples


@pytest.mark.parametrize("encoder", ["small", "backbone"])
@pytest.mark.parametrize("attention", [True, False])
@given(
    facets=st.integers(1, 4),
    layers=st.tuples(st.integers(0, 2), st.integers(1, 2)),
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=examples(15), deadline=None)
def test_they_are_those_of_torch(
    encoder: FacetEncoder, attention: bool, facets: int, layers: tuple[int, int], lengths: list[int], seed: int
) -> None:
    torch.manual_seed(seed)
    shape = FacetShape(facets, 12, *layers, heads=3, hidden=20, attention=attention, encoder=encoder, read_dim=7)
    network = FacetNetwork(shape).eval()
    if encoder == "backbone":
        with torch.no_grad():
            network.read_norm.weight.uniform_(0.5, 2)
            network.read_norm.bias.uniform_(-1, 1)
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    vectors = np.random.default_rng(seed).normal(size=(*mask.shape, 12 if encoder == "small" else 7)).astype(np.float32)
    ours = run_facets(arrays_of(network.state_dict()), shape, vectors, mask)
    with torch.inference_mode():
        theirs = network(torch.from_numpy(vectors), torch.from_numpy(mask)).numpy()
    np.testing.assert_allclose(ours, theirs, atol=2e-5)
