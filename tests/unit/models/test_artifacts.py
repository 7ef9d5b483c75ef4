"""Shipped weights are loaded only as they were shipped; folders of the operator only as their own checksums say."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from models.artifacts import SHIPPED, load_artifact, save_artifact
from models.encoders.calibrations import read_default, write_default
from models.encoders.registry import EncoderOptions, load_nuggets
from models.errors import BackboneMismatch

FILES = ["slice/weights.safetensors", "slice/config.json", "nugget/weights.safetensors", "nugget/config.json"]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped weights, in their place."""
    copy = tmp_path / "weights"
    shutil.copytree(SHIPPED, copy)
    (tmp_path / "__init__.py").touch()
    monkeypatch.setattr("models.encoders.registry.SHIPPED", copy)
    return copy


def change_one_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def load_everything() -> None:
    load_nuggets("slice", EncoderOptions(device="cpu"))


@pytest.mark.parametrize("name", FILES)
def test_shipped_weights_of_which_a_byte_differs_are_refused_by_name(name: str, shipped: Path) -> None:
    load_everything()
    change_one_byte(shipped / name)
    with pytest.raises(BackboneMismatch, match=str(shipped / name)):
        load_everything()


def test_a_shipped_calibration_of_which_a_byte_differs_is_refused_by_name(shipped: Path) -> None:
    assert read_default(shipped / "slice", next(iter(json.loads((shipped / "slice/calibration.json").read_text()))))
    change_one_byte(shipped / "slice/calibration.json")
    with pytest.raises(BackboneMismatch, match=r"calibration.json is damaged"):
        read_default(shipped / "slice", "any")


def test_shipped_weights_without_checksums_are_refused(shipped: Path) -> None:
    (shipped / "slice/SHA256SUMS").unlink()
    with pytest.raises(BackboneMismatch, match=r"slice/weights.safetensors"):
        load_artifact(shipped / "slice")


def test_a_folder_of_the_operator_is_checked_only_where_it_has_checksums(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "nugget", folder)
    (folder / "SHA256SUMS").unlink()
    change_one_byte(folder / "weights.safetensors")
    load_artifact(folder)
    files = ["weights.safetensors", "config.json"]
    spelt = subprocess.run(["sha256sum", "--binary", *files], cwd=folder, capture_output=True, check=True).stdout
    (folder / "SHA256SUMS").write_bytes(spelt)
    load_artifact(folder)
    change_one_byte(folder / "weights.safetensors")
    with pytest.raises(BackboneMismatch, match=r"mine/weights.safetensors"):
        load_artifact(folder)


def test_training_into_a_folder_with_checksums_brings_them_up_to_date(tmp_path: Path) -> None:
    saved = save_artifact(tmp_path, {}, {"seed": 1})
    assert not (tmp_path / "SHA256SUMS").exists()
    sums = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("config.json",)}
    (tmp_path / "calibration.json").write_text("{}")
    sums["calibration.json"] = hashlib.sha256(b"{}").hexdigest()
    (tmp_path / "SHA256SUMS").write_text("".join(f"{sha256}  {name}\n" for name, sha256 in sums.items()))
    again = save_artifact(tmp_path, {}, {"seed": 2})
    assert load_artifact(tmp_path).sha256 == again.sha256 != saved.sha256
    made = read_default(SHIPPED / "slice", next(iter(json.loads((SHIPPED / "slice/calibration.json").read_text()))))
    assert made
    write_default(tmp_path, "x", made)
    assert read_default(tmp_path, "x") == made
