"""Collections: create, describe, list and delete."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.collections.answers import CollectionDescription, CollectionList, DeletedCollection
from app.collections.bounds import span_bounds
from app.encoders.default_calibrations import default_calibration
from app.encoders.encoders import Encoders
from app.requests import RepresentationOptions
from indexer.catalog.leases import lease
from indexer.catalog.names import checked_collection_name
from indexer.errors import CollectionNotFound
from indexer.facets.recipe import has_facets, with_facets
from indexer.indexing.deletion import delete_collection, sweep_deleted
from indexer.nuggets.recipe import nugget_recipe
from indexer.restorable.recipe import has_restorable, with_restorable
from indexer.store import Store
from indexer.types import Collection, Recipe
from indexer.words.recipe import has_words, with_words
from models.encoders.nuggets.base import check_ratio
from models.encoders.nuggets.forward_pass import NuggetPass
from models.errors import InvalidInput, UnknownEncoder
from models.types import SpanBounds


@dataclass(frozen=True)
class CollectionOptions(RepresentationOptions):
    """The recipe of a collection. None stands for the value of an existing collection, else for the default.

    ``texts`` are a sample of its documents, by which the nuggets of a new collection are whitened; without one, and
    with ``as_trained``, its nuggets are not whitened.
    """

    encoder: str | None = None
    shortest: int | None = None
    longest: int | None = None
    texts: Iterable[str] | None = None
    as_trained: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    """A collection; ``is_new`` is False if it existed before."""

    collection: Collection
    is_new: bool


def refuse_texts_beside(options: CollectionOptions) -> None:
    """Raise ``InvalidInput`` for what a collection that does not store texts cannot have."""
    wanted = {"words": options.words, "facets": options.facets, "nuggets": options.nugget_ratio is not None}
    for name in (name for name, is_wanted in wanted.items() if is_wanted):
        raise InvalidInput(
            f"A collection that does not store texts has no {name}.",
            hint=f"Leave {name} out; it is searched in the modes best_span and restorable.",
            field="store_text",
        )
    if options.restorable is False:
        raise InvalidInput(
            "A collection without texts and without restorable vectors could not show its hits.",
            hint="Store one of both.",
            field="store_text",
        )


def _chosen(option: bool | None, usual: bool) -> bool:
    return usual if option is None else option


class CollectionService:
    """The collections of one store. Raises ``CollectionNotFound``."""

    def __init__(self, store: Store, encoders: Encoders, *, default_encoder: str, default_words: bool = True) -> None:
        self._store = store
        self._encoders = encoders
        self._default_encoder = default_encoder
        self._default_words = default_words

    def create(self, name: str, options: CollectionOptions | None = None) -> Created:
        """Create a collection, with its encoder's default calibration; an existing one of the same recipe is returned.

        Raises ``RecipeMismatch`` if a collection of this name has another recipe, ``AliasExists`` for an alias.
        """
        options = options or CollectionOptions()
        checked_collection_name(name)
        if options.nugget_ratio is not None:
            check_ratio(options.nugget_ratio)
        sweep_deleted(self._store)
        existing = self._recipe_of(name)
        recipe, nuggets = self._recipe(options, existing)
        start = None if existing else default_calibration(self._encoders, recipe)
        collection = self._store.catalog.create_collection(name, recipe, start)
        if nuggets and not existing:
            self._encoders.keep_whitening(nuggets.encoder)
        return Created(collection, is_new=existing is None)

    def describe(self, name: str) -> CollectionDescription:
        """The recipe of a collection and the numbers of its documents, units and segments."""
        return self._describe(self._store.catalog.collection(name))

    def list(self, is_visible: Callable[[str], bool] = lambda name: True) -> CollectionList:
        """The visible collections, by name."""
        collections = self._store.catalog.collections()
        return CollectionList(tuple(self._describe(each) for each in collections if is_visible(each.name)))

    def delete(self, name: str) -> DeletedCollection:
        """Delete a collection with its documents, phrases, matches, thresholds and calibrations.

        Running searches finish. Raises ``CollectionBusy`` while another process writes to it, ``CollectionAliased``
        while an alias names it, and ``AliasExists`` for an alias.
        """
        sweep_deleted(self._store)
        self._store.catalog.require_own_name(name)
        with lease(self._store.catalog, name) as held:
            nuggets = nugget_recipe(self._store.catalog.collection(name).recipe)
            delete_collection(self._store, held)
        if nuggets is not None:
            self.remove_whitening(nuggets.fingerprint)
        return DeletedCollection(name)

    def own_name(self, name: str) -> str:
        """The name of the collection that an alias names; any other name itself."""
        try:
            return self._store.catalog.collection(name).name
        except CollectionNotFound:
            return name

    def remove_whitening(self, fingerprint: str) -> None:
        """Remove the whitening of nuggets that no collection uses any longer."""
        self._encoders.remove_whitening(fingerprint, lambda: self._is_used(fingerprint))

    def _describe(self, collection: Collection) -> CollectionDescription:
        return CollectionDescription.of(collection, self._store.damages(collection))

    def _recipe_of(self, name: str) -> Recipe | None:
        try:
            return self._store.catalog.collection(name).recipe
        except CollectionNotFound:
            return None

    def _recipe(self, options: CollectionOptions, existing: Recipe | None) -> tuple[Recipe, NuggetPass | None]:
        usual = existing.bounds if existing else SpanBounds()
        bounds = span_bounds(
            usual.shortest if options.shortest is None else options.shortest,
            usual.longest if options.longest is None else options.longest,
        )
        name = options.encoder or (existing.encoder if existing else self._default_encoder)
        try:
            encoder = self._encoders.load(name)
        except UnknownEncoder as error:
            if options.encoder is None:
                raise
            raise InvalidInput(str(error), hint=error.hint, field="encoder") from error
        nuggets = self._existing_nuggets(options, existing) if existing else self._new_nuggets(options, name)
        recipe = Recipe(name, encoder.fingerprint, encoder.dim, bounds, nuggets.details if nuggets else {})
        stores_text = _chosen(options.store_text, existing is None or existing.stores_text)
        if not stores_text:
            refuse_texts_beside(options)
        words = self._default_words and stores_text if existing is None else has_words(existing)
        recipe = with_words(recipe) if _chosen(options.words, words) else recipe
        if _chosen(options.facets, existing is not None and has_facets(existing)):
            recipe = with_facets(recipe, self._encoders.facets.sentences)
        if _chosen(options.restorable, existing is not None and has_restorable(existing)) or not stores_text:
            recipe = with_restorable(recipe, self._encoders.restorer, store_text=stores_text)
        return recipe, nuggets

    def _existing_nuggets(self, options: CollectionOptions, existing: Recipe) -> NuggetPass | None:
        """The collection's nuggets, or the requested ones if these differ, which the catalog then refuses."""
        ratio, nuggets = options.nugget_ratio, nugget_recipe(existing)
        if nuggets is None:
            return None if ratio is None else NuggetPass(self._encoders.load_nuggets(existing.encoder), ratio)
        if options.as_trained:
            encoder = self._encoders.load_nuggets(existing.encoder)
        else:
            encoder = self._encoders.nugget_pass(existing).encoder
        return NuggetPass(encoder, nuggets.ratio if ratio is None else ratio)

    def _new_nuggets(self, options: CollectionOptions, encoder: str) -> NuggetPass | None:
        ratio = options.nugget_ratio
        if ratio is None:
            return None
        if options.texts is None or options.as_trained:
            return NuggetPass(self._encoders.load_nuggets(encoder), ratio)
        return NuggetPass(self._encoders.whiten_nuggets(encoder, options.texts, ratio), ratio)

    def _is_used(self, fingerprint: str) -> bool:
        recipes = (nugget_recipe(collection.recipe) for collection in self._store.catalog.collections())
        return any(recipe is not None and recipe.fingerprint == fingerprint for recipe in recipes)
