"""Aliases: names that stand for a collection, and are changed while it is searched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Self

from app.answers import described
from app.services import Services
from indexer.catalog.aliases import list_aliases, set_aliases
from indexer.store import Store
from models.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class AliasDescription:
    """An alias."""

    name: str
    collection: Annotated[str, described("The collection that it names.")]
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class AliasList:
    """Aliases by name."""

    aliases: tuple[AliasDescription, ...]


class AliasService:
    """The aliases of one store's collections."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store)

    def list(self, is_visible: Callable[[str], bool] = lambda name: True) -> AliasList:
        """The visible aliases, by name."""
        aliases = (each for each in list_aliases(self._store.catalog) if is_visible(each.name))
        return AliasList(tuple(AliasDescription(each.name, each.collection, each.changed_at) for each in aliases))

    def set(self, targets: Mapping[str, str | None]) -> None:
        """Let aliases name these collections, and delete those of None, at one moment.

        Searches under way finish where they began; later ones use the new collection.
        """
        if not targets:
            raise InvalidInput("No alias is named.", hint="Name at least one.", field="aliases")
        set_aliases(self._store.catalog, targets)
        for name in targets:
            self._store.forget(name)
