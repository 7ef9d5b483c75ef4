"""What all tests of training begin with."""

from pathlib import Path

import pytest

from research.training.batches import Shape
from research.training.config import SliceConfig
from research.training.loop import Schedule
from tests.tiny_bert import fit_briefly


@pytest.fixture
def config(backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SliceConfig:
    fit_briefly(monkeypatch)
    return tiny_config(backbone, tmp_path)


def tiny_config(backbone: Path, folder: Path) -> SliceConfig:
    """A run of eight steps that writes to a folder."""
    return SliceConfig(
        data=folder,
        out=folder / "weights",
        checkpoints=folder / "checkpoints",
        backbone=str(backbone),
        device="cpu",
        save_every=4,
        shape=Shape(pairs=3, set_in_context=1, plain=1, alone=1, short=2),
        schedule=Schedule(steps=8, rate=1e-3),
    )
