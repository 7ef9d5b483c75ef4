"""The restorer that comes with Spanseek, or the operator's own, and the texts that it has restored."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from indexer.errors import RecipeMismatch
from indexer.restorable.files import NAME
from indexer.types import Recipe
from models.artifacts import SHIPPED
from models.encoders.base import Encoder
from models.encoders.registry import Models, load_encoder
from models.encoders.restorable.base import Restorer
from models.errors import BackboneMissing

if TYPE_CHECKING:
    from indexer.restorable.texts import RestoredTexts


class Restoring:
    """The restorer and its texts, loaded at first use; ``load`` loads another one.

    Raises ``BackboneMissing`` without weights.
    """

    def __init__(self, models: Models, load: Callable[[], Restorer] | None = None) -> None:
        self._load = load or partial(load_restorer_of, models.options.restorable_weights, models.load)
        self._texts: "RestoredTexts | None" = None
        self._lock = Lock()

    @property
    def texts(self) -> "RestoredTexts":
        """The texts of all collections of this restorer."""
        from indexer.restorable.texts import RestoredTexts  # reads segments, which recipes do without

        with self._lock:
            if self._texts is None:
                self._texts = RestoredTexts(self._load())
            return self._texts

    @property
    def restorer(self) -> Restorer:
        """The restorer."""
        return self.texts.restorer

    def matching(self, recipe: Recipe) -> "RestoredTexts":
        """The texts of a collection with restorable vectors. Raises ``RecipeMismatch`` if the weights have changed."""
        texts, stored = self.texts, fingerprint(recipe)
        if stored != texts.restorer.fingerprint:
            raise RecipeMismatch(
                f"The collection's restorable vectors are of {stored}; this server has {texts.restorer.fingerprint}.",
                hint="Serve with the restorable weights it was indexed with (SPANSEEK_RESTORABLE_WEIGHTS).",
                field="collection",
            )
        return texts


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


def fingerprint(recipe: Recipe) -> str:
    """The fingerprint of the restorer of a collection that has restorable vectors."""
    details: Any = recipe.details[NAME]
    return str(details["fingerprint"])
