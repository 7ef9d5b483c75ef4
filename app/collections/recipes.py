"""The representations of a recipe: the requested ones, an existing collection's, or the defaults."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.recipes import Choice, RepresentationOptions
from indexer.representations.base import Wanted
from indexer.representations.registry import representations
from indexer.types import Details, Recipe
from models.encoders.registry import Models
from models.errors import InvalidInput


@dataclass(frozen=True)
class CollectionOptions(RepresentationOptions):
    """The recipe of a collection. None stands for the value of an existing collection, else for the default.

    ``texts`` are a sample of its documents, to which representations of a new collection may fit their models; without
    one, and with ``as_trained``, these stay as they were trained.
    """

    encoder: str | None = None
    shortest: int | None = None
    longest: int | None = None
    texts: Iterable[str] | None = None
    as_trained: bool = False


def with_representations(
    recipe: Recipe, models: Models, options: CollectionOptions, existing: Recipe | None, left_out: Sequence[str] = ()
) -> Recipe:
    """A recipe of units, with the representations that it is to have; ``left_out`` are no defaults.

    Raises ``InvalidInput`` for what a collection without texts cannot have, and what a representation raises.
    """
    chosen = options.chosen()
    store_text = options.store_text if options.store_text is not None else existing is None or existing.stores_text
    if not store_text:
        _check_without_texts(chosen)
    details: dict[str, Details] = {}
    for name, each in representations().items():
        before = existing.details.get(name) if existing else None
        is_default = each.is_default and name not in left_out and (store_text or not each.needs_text)
        is_usual = is_default if existing is None else before is not None
        choice = chosen.get(name, {} if is_usual or (each.restores_text and not store_text) else None)
        if choice is None:
            continue
        wanted = Wanted(
            each.options(**{**each.chosen(before or {}), **choice}),
            existing.encoder if existing else recipe.encoder,
            before,
            None if existing else options.texts,
            as_trained=options.as_trained,
            store_text=store_text,
        )
        details[name] = each.details(wanted, models)
    return replace(recipe, details=details)


def as_before(recipe: Recipe, options: CollectionOptions) -> dict[str, Choice]:
    """The choices for a collection's next recipe: as in the old one, unless the request says otherwise."""
    keeps_text = options.store_text is not False
    choices = options.chosen()
    for name, each in representations().items():
        if name in choices or (each.restores_text and not keeps_text):
            continue
        is_kept = name in recipe.details and (keeps_text or not each.needs_text)
        choices[name] = dict(each.chosen(recipe.details[name])) if is_kept else None
    return choices


def _check_without_texts(chosen: Mapping[str, Choice]) -> None:
    for name, choice in chosen.items():
        each = representations()[name]
        if choice is not None and each.needs_text:
            raise InvalidInput(
                f"A collection that does not store texts has no {name}.",
                hint=f"Leave {name} out, or store texts.",
                field="store_text",
            )
        if choice is None and each.restores_text:
            raise InvalidInput(
                f"A collection without texts and without {name} vectors could not show its hits.",
                hint="Store one of both.",
                field="store_text",
            )
