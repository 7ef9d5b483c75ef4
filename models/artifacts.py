"""Trained parts as folders: ``weights.safetensors``, ``config.json`` and a model card beside them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file, save
from torch import Tensor

from models.errors import BackboneMissing
from models.types import JsonValue

SHIPPED = Path(__file__).parent / "weights"


@dataclass(frozen=True, slots=True)
class Artifact:
    """What training made: tensors by parameter name, the settings they were made with, and their checksum."""

    tensors: dict[str, Tensor]
    config: dict[str, JsonValue]
    sha256: str


def load_artifact(folder: Path) -> Artifact:
    """Read a trained part. Raises ``BackboneMissing`` where the folder holds none."""
    weights, config = folder / "weights.safetensors", folder / "config.json"
    if not weights.is_file() or not config.is_file():
        raise BackboneMissing(
            f"There are no trained weights in {folder}.",
            hint="The folder must hold weights.safetensors and config.json. Check SPANSEEK_WEIGHTS.",
        )
    sha256 = hashlib.sha256(weights.read_bytes() + config.read_bytes()).hexdigest()
    return Artifact(load_file(weights), json.loads(config.read_text("utf-8")), sha256)


def save_artifact(folder: Path, tensors: dict[str, Tensor], config: dict[str, JsonValue]) -> Artifact:
    """Write a trained part, and read it back. The weights are put in place by a rename: they are never half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "weights.partial"
    partial.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    partial.replace(folder / "weights.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    return load_artifact(folder)
