"""The requirements of sentence-transformers files beside a backbone, and whether span vectors can honour it.

A span's vector is the mean of its tokens' vectors, compared by the cosine. So a model with mean pooling, with or
without normalisation, means the same here. One with another pooling, further layers or prompts does not: it is refused.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from models.errors import BackboneMismatch

_MODES: Final = "pooling_mode_"
_MEAN: Final = "pooling_mode_mean_tokens"


def check_modules(folder: Path) -> None:
    """Raise ``BackboneMismatch`` for modules or prompts that span vectors cannot honour. Folders without any pass."""
    for module in _read(folder / "modules.json", []):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            _check_pooling(folder / str(module.get("path", "")) / "config.json")
        elif kind not in ("Transformer", "Normalize"):
            raise _refused(folder, f"the module {kind}")
    prompts = _read(folder / "config_sentence_transformers.json", {}).get("prompts") or {}
    named = sorted(name for name, prompt in prompts.items() if prompt)
    if named:
        raise _refused(folder, f"prompts ({', '.join(named)})")


def _check_pooling(path: Path) -> None:
    config: Mapping[str, Any] = _read(path, {})
    modes = {name for name, value in config.items() if name.startswith(_MODES) and value is True}
    mode = str(config.get("pooling_mode", "mean"))
    if modes - {_MEAN} or mode != "mean":
        raise _refused(path.parent.parent, f"pooling by {', '.join(sorted(modes - {_MEAN})) or mode}")


def _read(path: Path, default: Any) -> Any:  # noqa: ANN401  any JSON
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise BackboneMismatch(f"{path} cannot be read: {error}", hint="Fetch the model again.") from error


def _refused(folder: Path, what: str) -> BackboneMismatch:
    return BackboneMismatch(
        f"The model in {folder} has {what}, which vectors of spans cannot honour.",
        hint="Use a model with mean pooling and without prompts.",
    )
