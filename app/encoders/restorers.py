"""The restorer that comes with Spanseek, or the operator's own."""

from collections.abc import Callable
from pathlib import Path

from models.artifacts import SHIPPED
from models.encoders.base import Encoder
from models.encoders.registry import load_encoder
from models.encoders.restorable.base import Restorer
from models.errors import BackboneMissing


def load_restorer_of(folder: Path | None = None, load: Callable[[str], Encoder] = load_encoder) -> Restorer:
    """The restorer of a folder of trained weights, by default those shipped. ``load`` gives its encoder.

    Raises ``BackboneMissing`` where there is no such folder.
    """
    from models.encoders.restorable.model import load_restorer  # torch and transformers

    folder = folder or SHIPPED / "restorable"
    if not folder.is_dir():
        raise BackboneMissing(
            f"There are no weights of a restorer in {folder}.",
            hint="Check SPANSEEK_RESTORABLE_WEIGHTS: it names a folder that `spanseek train restorable` wrote.",
        )
    return load_restorer(folder, load)
