"""The encoders of nuggets, as trained and whitened for collections, loaded at first use."""

from collections.abc import Callable, Iterable
from threading import Lock

from indexer.errors import RecipeMismatch
from indexer.nuggets.recipe import NuggetRecipe
from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.nuggets.forward_pass import NuggetPass
from models.encoders.nuggets.whitened import WhitenedNuggets, fit_whitening, load_whitened, remove_whitening
from models.encoders.registry import Models, load_nuggets


class NuggetModels:
    """Nugget encoders by the names of their encoders, and whitened ones by their fingerprints."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._folder = models.options.whitenings
        self._trained: dict[str, NuggetEncoder] = {}
        self._whitened: dict[str, WhitenedNuggets] = {}
        self._warm: set[str] = set()
        self._lock = Lock()

    def trained(self, encoder: str) -> NuggetEncoder:
        """The nugget encoder of an encoder, not whitened."""
        base = self._models.load(encoder)
        with self._lock:
            if encoder not in self._trained:
                self._trained[encoder] = load_nuggets(encoder, self._models.options, base=base)
            return self._trained[encoder]

    def matching(self, encoder: str, nuggets: NuggetRecipe) -> NuggetPass:
        """The nuggets of a collection of this encoder. Raises ``RecipeMismatch`` if weights have changed since."""
        trained = self.trained(encoder)
        own = trained if trained.fingerprint == nuggets.fingerprint else self._load(trained, nuggets.fingerprint)
        if own is None:
            raise RecipeMismatch(
                f"The collection's nuggets are of {nuggets.fingerprint}; this server has {trained.fingerprint}.",
                hint="Run `spanseek reindex` once, or serve with the nugget weights it was indexed with.",
                field="collection",
            )
        return NuggetPass(own, nuggets.ratio)

    def whiten(self, encoder: str, texts: Iterable[str], ratio: float) -> NuggetEncoder:
        """The nugget encoder of a new collection, whitened by a sample of its texts. Saves the whitening."""
        trained = self.trained(encoder)
        whitened = WhitenedNuggets(trained, fit_whitening(trained, texts, ratio))
        whitened.save(self._folder)
        with self._lock:
            self._whitened[whitened.fingerprint] = whitened
        return whitened

    def keep(self, fingerprint: str) -> None:
        """Store the whitening of a collection again: it may have been removed before the catalog referred to it."""
        if fingerprint in self._whitened:
            self._whitened[fingerprint].save(self._folder)

    def forget(self, fingerprint: str, is_used: Callable[[], bool]) -> None:
        """Remove a whitening that no collection uses."""
        with self._lock:
            self._whitened.pop(fingerprint, None)
        remove_whitening(fingerprint, self._folder, is_used)

    def warm_up(self, nuggets: NuggetPass) -> None:
        """Load what queries need: weights and kernels load with the first word."""
        encoder = nuggets.encoder
        if encoder.fingerprint not in self._warm:
            (tokens,) = encoder.base.tokenize(["word"])
            encoder.forward_query([tokens.ids], nuggets.ratio)
            self._warm.add(encoder.fingerprint)

    def _load(self, trained: NuggetEncoder, fingerprint: str) -> NuggetEncoder | None:
        with self._lock:
            if fingerprint not in self._whitened:
                whitened = load_whitened(trained, fingerprint, self._folder)
                if whitened is None:
                    return None
                self._whitened[fingerprint] = whitened
            return self._whitened[fingerprint]
