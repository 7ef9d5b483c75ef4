"""The device of these tests: a fake one, or with ``TEST_DEVICE=cuda`` the first GPU of the machine."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch

from tests.device.fake_cuda import GPU, FakeCuda

IS_REAL = os.environ.get("TEST_DEVICE") == "cuda"


@dataclass(frozen=True)
class Gpu:
    """The device, and the fake that plays it; None if it is real."""

    device: torch.device
    fake: FakeCuda | None

    @property
    def played(self) -> FakeCuda:
        """The fake; a test that asks for it is skipped on a real GPU."""
        if self.fake is None:
            pytest.skip("a real GPU does not say this of itself")
        return self.fake


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    if IS_REAL:
        yield Gpu(GPU, None)
        return
    fake = FakeCuda()
    fake.install(monkeypatch)
    with fake:
        yield Gpu(GPU, fake)
