"""Trained weights as folders: ``weights.safetensors``, ``config.json`` and a model card.

A file ``SHA256SUMS`` beside them has their checksums, in the form of coreutils' ``sha256sum``. Shipped weights must
have one. In other folders it is optional, and checked if it exists.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from models.atomic import replacing
from models.errors import BackboneMismatch, BackboneMissing
from models.tensors import read_tensors
from models.types import JsonValue

CHECKSUMS = "SHA256SUMS"
SHIPPED = Path(__file__).parent / "weights"


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


def check_sha256(path: Path, sha256: str) -> None:
    """Raise ``BackboneMismatch`` if the checksum of a file differs from the one in its folder."""
    expected = _checksums(path.parent).get(path.name)
    if expected != sha256 and (expected is not None or _is_shipped(path.parent)):
        raise BackboneMismatch(
            f"{path} is damaged or was changed: its SHA-256 is not the one in {CHECKSUMS}.",
            hint=f"Reinstall Spanseek, or restore the file; write {CHECKSUMS} anew if the change is intended.",
        )


def read_checked(path: Path) -> bytes:
    """The bytes of a small file, checked as :func:`check_sha256` does."""
    data = path.read_bytes()
    check_sha256(path, hashlib.sha256(data).hexdigest())
    return data


def record_checksums(folder: Path) -> None:
    """Update the checksums of a folder after one of its files was written; without any, do nothing."""
    names = _checksums(folder)
    if names:
        lines = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
        (folder / CHECKSUMS).write_text("".join(lines), "ascii")


def _is_shipped(folder: Path) -> bool:
    """True for a folder in the folder ``weights`` of a package."""
    return folder.parent.name == "weights" and (folder.parent.parent / "__init__.py").is_file()


def _checksums(folder: Path) -> dict[str, str]:
    """The checksums of a folder by file name; empty without a checksum file."""
    if not (folder / CHECKSUMS).is_file():
        return {}
    lines = (line.split(maxsplit=1) for line in (folder / CHECKSUMS).read_text("utf-8").splitlines())
    return {fields[1].lstrip("*"): fields[0] for fields in lines if len(fields) == 2}


def read_entries(path: Path) -> dict[str, Any]:
    """A JSON object beside weights, with an entry for every encoder's fingerprint; empty without a file.

    Raises ``ValueError`` for another content, and ``BackboneMismatch`` if the checksum is wrong.
    """
    entries = json.loads(read_checked(path)) if path.is_file() else {}
    if not isinstance(entries, dict):
        raise ValueError("it is not an object")
    return entries


def write_entry(path: Path, fingerprint: str, entry: Mapping[str, JsonValue]) -> None:
    """Replace the entry of an encoder in a file beside its weights; other entries stay."""
    entries = read_entries(path) | {fingerprint: entry}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries))
    with replacing(path) as partial:
        partial.write_text(f"{{\n{lines}\n}}\n", "utf-8")
    record_checksums(path.parent)
