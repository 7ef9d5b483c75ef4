"""Encoders by name, loaded once and checked against the collections that they are used for."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

from app.encoders.backbones import Backbones
from app.encoders.facets import Facets
from app.encoders.restorers import load_restorer_of
from indexer.errors import RecipeMismatch
from indexer.facets.recipe import NAME as FACETS
from indexer.facets.recipe import FacetPass, facet_details
from indexer.nuggets.recipe import NAME as NUGGETS
from indexer.nuggets.recipe import nugget_recipe
from indexer.restorable.recipe import NAME as RESTORABLE
from indexer.restorable.recipe import RestorablePass, restorable_fingerprint
from indexer.types import Recipe
from models.encoders.base import Encoder, encode_queries
from models.encoders.calibrations import DefaultCalibration, read_default
from models.encoders.facets.model import FacetModel
from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.nuggets.forward_pass import NuggetPass
from models.encoders.nuggets.whitened import WhitenedNuggets, fit_whitening, load_whitened, remove_whitening
from models.encoders.passes import ForwardPass, UnitPass
from models.encoders.registry import EncoderOptions, load_encoder, load_nuggets, load_span_score, weights_folder
from models.encoders.restorable.base import Restorer
from models.ops.span_score import COSINE, SpanScore

if TYPE_CHECKING:
    from indexer.engine.place import ScoredSpan
    from indexer.restorable.texts import RestoredTexts

_REINDEX: Final = "Run `spanseek reindex` once: it encodes the stored texts anew. Or serve with its weights."
_INDEX_AGAIN: Final = "Serve with its weights; or index its documents, from where they came, into a new collection."


class Encoders:
    """Encoders by name, loaded at first use, and the facets and the restorer, which read by them.

    ``facet_weights`` and ``restorable_weights`` are folders of the operator's own; ``restorer`` loads another.
    """

    def __init__(
        self,
        options: EncoderOptions,
        *,
        facet_weights: Path | None = None,
        restorable_weights: Path | None = None,
        restorer: Callable[[], Restorer] | None = None,
    ) -> None:
        self.facets = Facets(facet_weights, self.load)
        self._load_restorer = restorer or partial(load_restorer_of, restorable_weights, self.load)
        self._restored: "RestoredTexts | None" = None
        self._options = replace(options, open_backbone=Backbones().open)
        self._loaded: dict[str, Encoder] = {}
        self._span_scores: dict[tuple[str, str], SpanScore] = {}
        self._defaults: dict[str, DefaultCalibration | None] = {}
        self._nuggets: dict[str, NuggetEncoder] = {}
        self._whitened: dict[str, WhitenedNuggets] = {}
        self._warm: set[str] = set()
        self._lock = Lock()
        self._restoring = Lock()

    @classmethod
    def of(
        cls,
        loaded: Mapping[str, Encoder],
        span_score: SpanScore | None = None,
        restorer: Callable[[], Restorer] | None = None,
    ) -> Self:
        """Encoders that have been loaded already, with this span score; by default the literal cosine."""
        encoders = cls(EncoderOptions(), restorer=restorer)
        encoders._loaded.update(loaded)
        for name, encoder in loaded.items():
            encoders._span_scores[name, encoder.fingerprint] = span_score or COSINE
        return encoders

    def load(self, name: str) -> Encoder:
        """The encoder of this name."""
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load_encoder(name, self._options)
            return self._loaded[name]

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

        Where the collection does not store texts, that includes the restorer, which writes those of the hits.
        """
        encoder = self.matching(recipe)
        if encoder.fingerprint not in self._warm:
            encode_queries(encoder, ["word"])
            self._warm.add(encoder.fingerprint)
        if not recipe.stores_text:
            self.warm_up_restorer(recipe)

    def warm_up_restorer(self, recipe: Recipe) -> None:
        """Load the restorer of a collection: torch and its kernels load with the first texts."""
        restorer = self.restored_texts(recipe).restorer
        if restorer.fingerprint not in self._warm:
            restorer.meanings(["word"])
            restorer.restore(restorer.encode(["word"]))
            self._warm.add(restorer.fingerprint)

    def warm_up_nuggets(self, recipe: Recipe) -> None:
        """Load the models for queries of mode maxsim."""
        nuggets = self.nugget_pass(recipe)
        if nuggets.encoder.fingerprint not in self._warm:
            (tokens,) = nuggets.encoder.base.tokenize(["word"])
            nuggets.encoder.forward_query([tokens.ids], nuggets.ratio)
            self._warm.add(nuggets.encoder.fingerprint)

    def load_nuggets(self, name: str) -> NuggetEncoder:
        """The nugget encoder of an encoder, not whitened."""
        base = self.load(name)
        with self._lock:
            if name not in self._nuggets:
                self._nuggets[name] = load_nuggets(name, self._options, base=base)
            return self._nuggets[name]

    def whiten_nuggets(self, name: str, texts: Iterable[str], ratio: float) -> NuggetEncoder:
        """The nugget encoder of a new collection, whitened by a sample of its texts. Saves the whitening."""
        trained = self.load_nuggets(name)
        whitened = WhitenedNuggets(trained, fit_whitening(trained, texts, ratio))
        whitened.save(self._options.whitenings)
        return whitened

    def keep_whitening(self, nuggets: NuggetEncoder) -> None:
        """Store the whitening of a collection again: it may have been removed before the catalog referred to it."""
        if isinstance(nuggets, WhitenedNuggets):
            nuggets.save(self._options.whitenings)

    def remove_whitening(self, fingerprint: str, is_used: Callable[[], bool]) -> None:
        """Remove a whitening that no collection uses."""
        with self._lock:
            self._whitened.pop(fingerprint, None)
        remove_whitening(fingerprint, self._options.whitenings, is_used)

    def forward_pass(self, recipe: Recipe) -> ForwardPass:
        """The forward pass that made a collection: its units, and what other representations it has.

        Raises ``RecipeMismatch`` if weights have changed since.
        """
        forward: ForwardPass = UnitPass(self.matching(recipe))
        if NUGGETS in recipe.details:
            forward = self.nugget_pass(recipe)
        forward = FacetPass(forward, self.facet_model(recipe)) if FACETS in recipe.details else forward
        if RESTORABLE not in recipe.details:
            return forward
        return RestorablePass(forward, self.restored_texts(recipe).restorer, store_text=recipe.stores_text)

    @property
    def restorer(self) -> Restorer:
        """The restorer of texts, loaded at first use. Raises ``BackboneMissing`` without its weights."""
        return self._restored_texts().restorer

    def restored_texts(self, recipe: Recipe) -> "RestoredTexts":
        """The texts of a collection with restorable vectors. Raises ``RecipeMismatch`` if the weights have changed."""
        texts, stored = self._restored_texts(), restorable_fingerprint(recipe)
        if stored != texts.restorer.fingerprint:
            raise RecipeMismatch(
                f"The collection's restorable vectors are of {stored}; this server has {texts.restorer.fingerprint}.",
                hint="Serve with the restorable weights it was indexed with (SPANSEEK_RESTORABLE_WEIGHTS).",
                field="collection",
            )
        return texts

    def readable(self, spans: "list[ScoredSpan]") -> "list[ScoredSpan]":
        """The same spans of one collection; if it does not store texts, at places that restore them."""
        recipe = spans[0].place.segment.recipe if spans else None
        if recipe is None or recipe.stores_text:
            return spans
        return self.restored_texts(recipe).placed(spans)

    def _restored_texts(self) -> "RestoredTexts":
        from indexer.restorable.texts import RestoredTexts

        with self._restoring:
            if self._restored is None:
                self._restored = RestoredTexts(self._load_restorer())
            return self._restored

    def facet_model(self, recipe: Recipe) -> FacetModel:
        """The facets of a collection that has some. Raises ``RecipeMismatch`` if their weights have changed since."""
        model = self.facets.sentences
        stored, loaded = (details["fingerprint"] for details in (recipe.details[FACETS], facet_details(model)))
        if stored != loaded:
            raise RecipeMismatch(
                f"The collection's facets are of {stored}; this server has {loaded}.",
                hint="Run `spanseek reindex` once, or serve with the facets it was indexed with.",
                field="collection",
            )
        return model

    def nugget_pass(self, recipe: Recipe) -> NuggetPass:
        """The encoder of a collection's nuggets and their ratio, for collections with nuggets."""
        nuggets = nugget_recipe(recipe)
        if nuggets is None:
            raise AssertionError("the collection has no nuggets")
        trained = self.load_nuggets(recipe.encoder)
        encoder = (
            trained if trained.fingerprint == nuggets.fingerprint else self._load_whitened(trained, nuggets.fingerprint)
        )
        if encoder is None:
            raise RecipeMismatch(
                f"The collection's nuggets are of {nuggets.fingerprint}; this server has {trained.fingerprint}.",
                hint="Run `spanseek reindex` once, or serve with the nugget weights it was indexed with.",
                field="collection",
            )
        return NuggetPass(encoder, nuggets.ratio)

    def _load_whitened(self, trained: NuggetEncoder, fingerprint: str) -> NuggetEncoder | None:
        with self._lock:
            if fingerprint not in self._whitened:
                whitened = load_whitened(trained, fingerprint, self._options.whitenings)
                if whitened is None:
                    return None
                self._whitened[fingerprint] = whitened
            return self._whitened[fingerprint]
