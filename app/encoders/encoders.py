"""Encoders by name, loaded once and checked against the collections that they are used for."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Self, cast

from app.encoders.backbones import Backbones
from indexer.errors import RecipeMismatch
from indexer.representations.registry import representation
from indexer.types import Recipe
from models.encoders.base import Encoder, encode_queries
from models.encoders.calibrations import DefaultCalibration, read_default
from models.encoders.passes import ForwardPass, UnitPass
from models.encoders.registry import (
    EncoderOptions,
    Made,
    Models,
    is_configured,
    load_encoder,
    load_span_score,
    weights_folder,
)
from models.ops.span_score import COSINE, SpanScore

if TYPE_CHECKING:
    from indexer.engine.place import Texts
    from models.verifier.verifier import Verifier

_REINDEX: Final = "Run `spanseek reindex` once: it encodes the stored texts anew. Or serve with its weights."
_INDEX_AGAIN: Final = "Serve with its weights; or index its documents, from where they came, into a new collection."


class Encoders(Models):
    """Encoders by name, loaded at first use, and the models of representations, which read by them."""

    def __init__(self, options: EncoderOptions) -> None:
        self._options = replace(options, open_backbone=Backbones().open)
        self._loaded: dict[str, Encoder] = {}
        self._span_scores: dict[tuple[str, str], SpanScore] = {}
        self._defaults: dict[str, DefaultCalibration | None] = {}
        self._shared: dict[Callable[[Models], Any], Any] = {}
        self._warm: set[str] = set()
        self._verifiers: dict[str, "Verifier | None"] = {}
        self._lock = RLock()

    @classmethod
    def of(cls, loaded: Mapping[str, Encoder], span_score: SpanScore | None = None) -> Self:
        """Encoders that have been loaded already, with this span score; by default the literal cosine."""
        encoders = cls(EncoderOptions())
        encoders._loaded.update(loaded)
        for name, encoder in loaded.items():
            encoders._span_scores[name, encoder.fingerprint] = span_score or COSINE
        return encoders

    @property
    def options(self) -> EncoderOptions:
        """The operator's settings, with the backbones that are open."""
        return self._options

    def is_configured(self, name: str) -> bool:
        """True for an encoder that the settings allow recipes from elsewhere to name."""
        return is_configured(name, self._options)

    def load(self, name: str) -> Encoder:
        """The encoder of this name."""
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load_encoder(name, self._options)
            return self._loaded[name]

    def shared(self, make: Callable[[Models], Made]) -> Made:
        """The result of ``make`` with these models, made at its first call and kept."""
        with self._lock:
            if make not in self._shared:
                self._shared[make] = make(self)
            return cast("Made", self._shared[make])

    def share(self, make: Callable[[Models], Made], made: Made) -> None:
        """Let others share what has been made already."""
        self._shared[make] = made

    def span_score(self, name: str, fingerprint: str) -> SpanScore:
        """The span score of the encoder of this name and fingerprint, which need not be loaded."""
        with self._lock:
            if (name, fingerprint) not in self._span_scores:
                self._span_scores[name, fingerprint] = load_span_score(self._options, name, fingerprint)
            return self._span_scores[name, fingerprint]

    def default_calibration(self, name: str) -> DefaultCalibration | None:
        """The calibration that comes with the encoder of this name; None without one."""
        folder = weights_folder(name, self._options)
        if folder is None:
            return None
        fingerprint = self.load(name).fingerprint
        with self._lock:
            if name not in self._defaults:
                self._defaults[name] = read_default(folder, fingerprint)
            return self._defaults[name]

    def matching(self, recipe: Recipe) -> Encoder:
        """The encoder of a collection; raises ``RecipeMismatch`` if its weights have changed since."""
        encoder = self.load(recipe.encoder)
        if encoder.fingerprint != recipe.fingerprint:
            raise RecipeMismatch(
                f"The collection was indexed with {recipe.encoder} {recipe.fingerprint}; "
                f"this server has {encoder.fingerprint}.",
                hint=_REINDEX if recipe.stores_text else _INDEX_AGAIN,
                field="collection",
            )
        return encoder

    def warm_up(self, recipe: Recipe) -> None:
        """Load the models for queries of a collection: weights and kernels load with the first word.

        Where the collection does not store texts, that includes what restores those of the hits.
        """
        encoder = self.matching(recipe)
        if encoder.fingerprint not in self._warm:
            encode_queries(encoder, ["word"])
            self._warm.add(encoder.fingerprint)
        if not recipe.stores_text:
            self.texts(recipe).warm_up()

    def verifier(self, recipe: Recipe) -> "Verifier | None":
        """The verifier of the hits of a collection, opened at first use.

        None if its encoder has none, and for a collection without texts, which it would read.
        """
        if not recipe.stores_text:
            return None
        from models.verifier.verifier import open_verifier  # numba, which commands that encode nothing do without

        encoder = self.load(recipe.encoder)
        with self._lock:
            if encoder.fingerprint not in self._verifiers:
                self._verifiers[encoder.fingerprint] = open_verifier(encoder, self._options.verifier_weights)
            return self._verifiers[encoder.fingerprint]

    def forward_pass(self, recipe: Recipe) -> ForwardPass:
        """The forward pass that made a collection: its units, and what other representations it has.

        Raises ``RecipeMismatch`` if weights have changed since.
        """
        encoder = self.matching(recipe)
        return UnitPass(encoder, {name: representation(name).maker(recipe, self) for name in recipe.details})

    def texts(self, recipe: Recipe) -> "Texts":
        """The texts of a collection that stores none. Raises ``RecipeMismatch`` if the weights have changed since."""
        restoring = next(each for each in map(representation, recipe.details) if each.restores_text)
        return cast("Texts", restoring.texts(recipe, self))
