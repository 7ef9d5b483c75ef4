"""The average of trained encoders."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import Artifact, load_artifact
from models.backbones.torch_network import load_backbone
from models.encoders.registry import EncoderOptions, load_encoder
from models.errors import InvalidInput
from research.training import checkpoint_averaging as averaging
from research.training.checkpoint_averaging import average_slice, mean_tensors
from research.training.config import SliceConfig
from research.training.slice import Material, train_slice
from research.training.sources import GradedPair
from research.training.texts import Texts
from tests.tiny_bert import PROSE

PAIRS = [GradedPair("the cat sat", "a cat was seen", 0.8), GradedPair("rain fell", "the door stood open", 0.1)]
MATERIAL = Material(Texts({"novels": [PROSE]}, {"short": ["the green door", "a dog barked"]}, PAIRS, {}))
LAYER = "encoder.layer.1.output.dense.weight"


def part(value: float, backbone: str = "b", width: int = 2) -> Artifact:
    return Artifact({"layer": np.full(width, value, np.float32)}, {"backbone_sha256": backbone}, "")


def test_every_part_counts_alike() -> None:
    assert mean_tensors([part(1), part(2), part(6)])["layer"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("parts", [[part(1), part(2, backbone="c")], [part(1), part(2, width=3)], [part(1)], []])
def test_what_has_no_average_is_refused(parts: list[Artifact]) -> None:
    with pytest.raises(InvalidInput, match="average"):
        mean_tensors(parts)


def test_the_average_of_two_runs_is_an_encoder(
    config: SliceConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(averaging, "read_material", lambda _: MATERIAL)
    one = train_slice(config, MATERIAL)
    other_run = replace(config, out=tmp_path / "other", checkpoints=tmp_path / "cp", seed=14)
    other = train_slice(other_run, MATERIAL)
    found = average_slice([config.out, other_run.out], replace(config, out=tmp_path / "average"))
    middle = (one.tensors[LAYER].float() + other.tensors[LAYER].float()) / 2
    torch.testing.assert_close(found.tensors[LAYER].float(), middle, atol=1e-3, rtol=1e-3)
    assert [of["sha256"] for of in found.config["parts"]] == [one.sha256, other.sha256]
    again = average_slice([config.out, other_run.out], replace(config, out=tmp_path / "nearer"), untrained=2)
    plain = torch.from_numpy(load_backbone(config.backbone, device="cpu").parameters()[LAYER])
    torch.testing.assert_close(again.tensors[LAYER].float(), (middle + plain) / 2, atol=1e-3, rtol=1e-3)
    assert again.config["untrained"] == 2
    frozen = replace(config, out=tmp_path / "frozen", frozen_layers=1)
    kept = average_slice([config.out, other_run.out], frozen, untrained=2)
    lowest = LAYER.replace("layer.1", "layer.0")
    torch.testing.assert_close(kept.tensors[LAYER], again.tensors[LAYER])
    torch.testing.assert_close(kept.tensors[lowest], found.tensors[lowest])
    encoder = load_encoder("slice", EncoderOptions(config.backbone, tmp_path / "average", "cpu"))
    assert encoder.fingerprint.endswith(load_artifact(tmp_path / "average").sha256[:24])
