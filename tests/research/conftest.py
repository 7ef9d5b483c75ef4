"""Fixtures of the research tests: a tiny backbone, one thread, and no loss curve unless a test asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from research.training import curve
from tests.tiny_bert import save_tiny_bert

_draw = curve.draw


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Matrices as small as these are multiplied before a second thread has started."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture at every checkpoint takes ten times as long as the steps between; the curve has tests of its own."""
    monkeypatch.setattr(curve, "draw", lambda folder: None)


@pytest.fixture
def pictures(_without_pictures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the loss curve at every checkpoint, as a training run does."""
    monkeypatch.setattr(curve, "draw", _draw)


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("tiny-bert"))
