"""What all tests of training begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from research.training import curve
from research.training.batches import Shape
from research.training.config import SliceConfig
from research.training.loop import Schedule
from tests.tiny_bert import fit_briefly, save_tiny_bert


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Matrices as small as these are multiplied before a second thread has come to help."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture at every checkpoint takes ten times as long as the steps between; the curve has tests of its own."""
    monkeypatch.setattr(curve, "draw", lambda folder: None)


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("tiny-bert"))


@pytest.fixture
def config(backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SliceConfig:
    fit_briefly(monkeypatch)
    return SliceConfig(
        data=tmp_path,
        out=tmp_path / "weights",
        checkpoints=tmp_path / "checkpoints",
        backbone=str(backbone),
        device="cpu",
        save_every=4,
        shape=Shape(pairs=3, set_in_context=1, plain=1, alone=1, short=2),
        schedule=Schedule(steps=8, rate=1e-3),
    )
