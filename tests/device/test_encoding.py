"""Encoding on a GPU: the vectors of the processor, with a batch in flight, and less of them where memory is short."""

from pathlib import Path

import numpy as np
import pytest
import torch

import indexer.indexing.encode
from indexer.indexing.encode import encode, split
from models.backbones.torch_network import Backbone, load_backbone
from models.encoders.hashing import HashingEncoder
from models.encoders.nuggets.network import NuggetNetwork
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.encoders.slice import SliceEncoder
from models.errors import DeviceMemoryExhausted
from models.types import Document, Part
from tests.device.conftest import Gpu
from tests.tiny_bert import save_tiny_bert

LENGTHS = [[9, 4, 1, 7], [30, 2], [5], [12, 12, 3, 8, 1], [6, 20]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("bert"))


def batches() -> list[list[np.ndarray]]:
    rng = np.random.default_rng(3)
    return [[rng.integers(5, 20, length).astype(np.int32) for length in lengths] for lengths in LENGTHS]


def limited(patch: pytest.MonkeyPatch, windows: int) -> None:
    """Too little memory for more windows than these."""
    hidden = Backbone.hidden

    def refusing(self: Backbone, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if len(ids) > windows:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return hidden(self, ids, mask)

    patch.setattr(Backbone, "hidden", refusing)


def unit_encoder(folder: Path, device: str) -> SliceEncoder:
    return SliceEncoder(load_backbone(str(folder), device=device))


def nugget_encoder(folder: Path, device: str) -> SliceNuggetEncoder:
    return SliceNuggetEncoder(unit_encoder(folder, device), layer=1)


def read(encoder: SliceEncoder | SliceNuggetEncoder) -> list[np.ndarray]:
    if isinstance(encoder, SliceEncoder):
        return [vectors for batch in encoder.forward(batches()) for vectors in batch]
    windows = [window for batch in encoder.forward(batches(), 0.3) for window in batch]
    return [array for units, made in windows for array in (units, made.vectors, made.tokens, made.scores)]


def assert_close(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


KINDS = pytest.mark.parametrize("kind", [unit_encoder, nugget_encoder])


@KINDS
def test_vectors_are_those_of_the_processor(gpu: Gpu, folder: Path, kind) -> None:
    assert_close(read(kind(folder, "cuda")), read(kind(folder, "cpu")))


@KINDS
def test_the_device_never_waits_for_the_host(gpu: Gpu, folder: Path, kind) -> None:
    encoder, waits = kind(folder, "cuda"), gpu.played.queue.waits
    waits.clear()
    read(encoder)
    assert len(waits) >= len(LENGTHS)
    # Behind the last batch nothing is queued; its arrays arrive one by one.
    assert [number for number, behind in enumerate(waits) if not behind] == [len(waits) - 1]


@KINDS
def test_a_batch_without_room_is_halved(gpu: Gpu, folder: Path, kind, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read(kind(folder, "cpu"))
    limited(monkeypatch, 1)
    assert_close(read(kind(folder, "cuda")), expected)
    assert gpu.fake is None or gpu.fake.emptied


def test_upper_layers_without_room_are_halved(gpu: Gpu, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, gathered = read(nugget_encoder(folder, "cpu")), NuggetNetwork.gathered

    def refusing(self, given, scores, *others):
        if len(scores) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return gathered(self, given, scores, *others)

    monkeypatch.setattr(NuggetNetwork, "gathered", refusing)
    assert_close(read(nugget_encoder(folder, "cuda")), expected)


def test_a_window_without_room_is_a_clear_error(gpu: Gpu, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 0)
    with pytest.raises(DeviceMemoryExhausted):
        read(unit_encoder(folder, "cuda"))


@pytest.mark.parametrize("batch_tokens", [64, 2**18])
def test_pools_are_bounded_whatever_a_batch_holds(batch_tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bound, encoder = 2**18, HashingEncoder()
    monkeypatch.setattr(indexer.indexing.encode, "_POOL_BYTES", bound, raising=False)
    documents = [(Document(str(number), (Part("one two three four five " * 40),)), "") for number in range(40)]
    pools = encode(encoder, split(encoder, documents), batch_tokens, clock=lambda: 0.0)
    sizes = [pool.vectors.nbytes for pool in pools]
    assert sum(sizes) == 40 * 200 * encoder.dim * 4
    assert max(sizes) <= bound + encoder.window * encoder.dim * 4
