"""Names, memory and precision of devices."""

from pathlib import Path

import pytest
import torch

import models.backbones.torch_network
from models.backbones.devices import ahead, free_memory, has_native_bf16, in_halves, resolve_device
from models.backbones.torch_network import load_backbone
from models.errors import DeviceMemoryExhausted, DeviceUnavailable
from tests.device.conftest import Gpu
from tests.tiny_bert import save_tiny_bert


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("auto", 0, "cpu"),
        ("auto", 2, "cuda:0"),
        ("cpu", 2, "cpu"),
        ("cuda", 1, "cuda:0"),
        ("cuda:1", 2, "cuda:1"),
        ("cuda:1", 1, None),
        ("cuda:7", 2, None),
        ("cuda", 0, None),
        ("gpu", 1, None),
        ("mps", 1, None),
        ("meta", 1, None),
        ("cuda:", 1, None),
        ("cuda:-1", 1, None),
        ("", 1, None),
    ],
)
def test_names(gpu: Gpu, name: str, count: int, expected: str | None) -> None:
    gpu.played.count = count
    if expected is not None:
        assert str(resolve_device(name)) == expected
        return
    with pytest.raises(DeviceUnavailable, match=repr(name)) as refused:
        resolve_device(name)
    assert refused.value.hint
    assert refused.value.field == "device"


def test_memory_that_torch_keeps_is_free(gpu: Gpu) -> None:
    fake = gpu.played
    fake.free, fake.reserved, fake.allocated = 1_000, 600, 200
    assert free_memory(gpu.device) == 1_400


def test_precision_is_that_of_the_named_device(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.played
    capabilities = {"cuda:0": (9, 0), "cuda:1": (7, 5)}
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capabilities[str(device)])
    assert [has_native_bf16(torch.device(name)) for name in capabilities] == [True, False]


@pytest.mark.native_precision
def test_precision_needs_nothing_of_newer_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert models.backbones.torch_network.has_native_bf16(torch.device("cpu")) in (True, False)


def test_halves_are_in_order() -> None:
    def run(items: list[int]) -> list[int]:
        if len(items) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        return items

    assert [each for part in in_halves(run, list(range(10))) for each in part] == list(range(10))
    assert list(ahead([1, 2, 3], 1)) == list(ahead([1, 2, 3], 0)) == list(ahead([1, 2, 3], 9)) == [1, 2, 3]


def test_one_item_without_room_is_a_clear_error() -> None:
    def run(items: list[int]) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nMore.")

    with pytest.raises(DeviceMemoryExhausted, match=r"Tried to allocate 2 GiB\.$") as refused:
        in_halves(run, [1, 2])
    assert refused.value.hint


def test_batches_are_bounded(gpu: Gpu, tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny_bert(tmp_path)), device="cuda")
    fake = gpu.played
    fake.free, fake.reserved = 2**20, 2**27
    small = backbone.batch_tokens()
    fake.free = 2**40
    assert small == (2**20 + 2**27) // (16 * 256)
    assert backbone.batch_tokens() == 2**16
