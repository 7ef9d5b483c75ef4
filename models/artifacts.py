"""Trained weights as folders: ``weights.safetensors``, ``config.json`` and a model card."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from models.checksums import SHIPPED, check_sha256, read_checked, record_checksums
from models.errors import BackboneMissing
from models.tensors import read_tensors
from models.types import JsonValue

__all__ = ["SHIPPED", "Artifact", "arrays_of", "load_artifact", "save_artifact"]


@dataclass(frozen=True, slots=True)
class Artifact:
    """Trained weights: arrays by parameter name, the settings of their training, and their checksum."""

    arrays: Mapping[str, Shaped[np.ndarray, "..."]]
    config: dict[str, JsonValue]
    sha256: str

    @property
    def tensors(self) -> dict[str, Any]:
        """The arrays as tensors, copied. Loads torch, which queries do not need."""
        import torch

        return {name: torch.from_numpy(np.array(array)) for name, array in self.arrays.items()}


def arrays_of(tensors: Mapping[str, Any]) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Tensors as arrays, which share their memory if possible."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


def load_artifact(folder: Path) -> Artifact:
    """Read trained weights.

    Raises ``BackboneMissing`` if the folder holds none, and ``BackboneMismatch`` if a checksum is wrong.
    """
    weights, config = folder / "weights.safetensors", folder / "config.json"
    if not weights.is_file() or not config.is_file():
        raise BackboneMissing(
            f"There are no trained weights in {folder}.",
            hint="The folder must hold weights.safetensors and config.json. Check SPANSEEK_WEIGHTS.",
        )
    digest = hashlib.sha256(weights.read_bytes())
    check_sha256(weights, digest.hexdigest())
    facts = read_checked(config)
    digest.update(facts)
    return Artifact(read_tensors(weights), json.loads(facts), digest.hexdigest())


def save_artifact(folder: Path, tensors: Mapping[str, Any], config: dict[str, JsonValue]) -> Artifact:
    """Write trained weights and read them back. The weights are written atomically."""
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "weights.partial"
    partial.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    partial.replace(folder / "weights.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    record_checksums(folder)
    return load_artifact(folder)
