"""Collections: create, describe, list and delete."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from app.collections.answers import CollectionDescription, CollectionList, DeletedCollection
from app.collections.bounds import span_bounds
from app.collections.recipes import CollectionOptions, with_representations
from app.encoders.default_calibrations import default_calibration
from app.encoders.encoders import Encoders
from app.services import Services
from indexer.catalog.aliases import list_aliases
from indexer.catalog.leases import lease
from indexer.catalog.names import checked_collection_name
from indexer.engine.query import Filter
from indexer.errors import CollectionDamaged, CollectionNotFound
from indexer.indexing.deletion import delete_collection, sweep_deleted
from indexer.reading.document_rows import count_passing
from indexer.representations.registry import representations
from indexer.store import Store
from indexer.types import Collection, Details, Recipe
from models.errors import InvalidInput, UnknownEncoder
from models.text.units import NEWEST
from models.types import JsonValue, SpanBounds


@dataclass(frozen=True, slots=True)
class Created:
    """A collection; ``is_new`` is False if it existed before."""

    collection: Collection
    is_new: bool


class CollectionService:
    """The collections of one store. Raises ``CollectionNotFound``.

    New collections have the default representations, but those that are ``left_out``.
    """

    def __init__(self, store: Store, encoders: Encoders, *, default_encoder: str, left_out: Sequence[str] = ()) -> None:
        self._store = store
        self._encoders = encoders
        self._default_encoder = default_encoder
        self._left_out = left_out

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        settings = services.settings
        left_out = () if settings.words else ("words",)
        return cls(services.store, services.encoders, default_encoder=settings.encoder, left_out=left_out)

    def create(self, name: str, options: CollectionOptions | None = None) -> Created:
        """Create a collection, with its encoder's default calibration; an existing one of the same recipe is returned.

        Raises ``RecipeMismatch`` if a collection of this name has another recipe, ``AliasExists`` for an alias.
        """
        options = options or CollectionOptions()
        checked_collection_name(name)
        sweep_deleted(self._store)
        existing = self._recipe_of(name)
        recipe = self._recipe(options, existing)
        start = None if existing else default_calibration(self._encoders, recipe)
        collection = self._store.catalog.create_collection(name, recipe, start)
        for representation, details in recipe.details.items() if existing is None else ():
            representations()[representation].keep(details, self._encoders)
        return Created(collection, is_new=existing is None)

    def describe(self, name: str, reach: Filter = Filter()) -> CollectionDescription:
        """The recipe of a collection and the numbers of its documents, units and segments; of those in reach alone."""
        return self._describe(self._store.catalog.collection(name), reach)

    def list(self, is_visible: Callable[[str], bool] = lambda name: True, reach: Filter = Filter()) -> CollectionList:
        """The visible collections, by name, with the numbers of what is in reach.

        One that is visible by aliases alone has their names.
        """
        catalog = self._store.catalog
        aliases = [each for each in list_aliases(catalog) if is_visible(each.name)]

        def names(collection: str) -> list[str]:
            if is_visible(collection):
                return [collection]
            return [alias.name for alias in aliases if alias.collection == collection]

        listed = {name: self._describe(each, reach) for each in catalog.collections() for name in names(each.name)}
        return CollectionList(
            tuple(replace(listed[name], name=name) for name in sorted(listed)),
            tuple(str(error) for error in catalog.damaged() if names(error.collection)) or None,
        )

    def delete(self, name: str) -> DeletedCollection:
        """Delete a collection with its documents, phrases, matches, thresholds and calibrations.

        Running searches finish. Raises ``CollectionBusy`` while another process writes to it, ``CollectionAliased``
        while an alias names it, and ``AliasExists`` for an alias.
        """
        sweep_deleted(self._store)
        self._store.catalog.require_own_name(name)
        with lease(self._store.catalog, name) as held:
            details = self._details_of(name)
            delete_collection(self._store, held)
        self.forget(details)
        return DeletedCollection(name)

    def own_name(self, name: str) -> str:
        """The name of the collection that an alias names; any other name itself."""
        try:
            return self._store.catalog.own_name(name)
        except CollectionNotFound:
            return name

    def forget(self, details: Mapping[str, Details]) -> None:
        """Remove what the details of a recipe refer to, unless a collection uses it."""
        for name, each in representations().items():
            if name in details:
                is_used = partial(self._is_used, name, details[name]["fingerprint"])
                each.forget(details[name], self._encoders, is_used)

    def _describe(self, collection: Collection, reach: Filter) -> CollectionDescription:
        description = CollectionDescription.of(collection, self._store.damages(collection))
        if not reach:
            return description
        counted = count_passing(self._store.snapshot(collection.name), reach)
        return replace(description, documents=counted.passing, units=counted.units, segments=None, bytes=None)

    def _details_of(self, name: str) -> Mapping[str, Details]:
        try:
            return self._store.catalog.collection(name).recipe.details
        except CollectionDamaged:  # it can be deleted nevertheless
            return {}

    def _recipe_of(self, name: str) -> Recipe | None:
        try:
            return self._store.catalog.collection(name).recipe
        except CollectionNotFound:
            return None

    def _recipe(self, options: CollectionOptions, existing: Recipe | None) -> Recipe:
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
        text = existing.text if existing else NEWEST
        units = Recipe(name, encoder.fingerprint, encoder.dim, bounds, text=text)
        return with_representations(units, self._encoders, options, existing, self._left_out)

    def _is_used(self, name: str, fingerprint: JsonValue) -> bool:
        recipes = (collection.recipe for collection in self._store.catalog.collections())
        return any(recipe.details.get(name, {}).get("fingerprint") == fingerprint for recipe in recipes)
