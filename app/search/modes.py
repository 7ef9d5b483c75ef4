"""Which modes a collection can be searched in."""

from typing import Literal

from app.search.errors import ModeUnavailable
from indexer.types import Recipe

Mode = Literal["best_span", "maxsim", "facets"]
# How a collection comes to hold what a mode searches.
_NEEDS: dict[Mode, str] = {
    "maxsim": "Index its documents into a new collection with `spanseek index --nugget-ratio 0.1`."
}


def modes_of(recipe: Recipe) -> tuple[Mode, ...]:
    """The modes that a collection of this recipe can be searched in.

    >>> modes_of(Recipe("hashing", "f1", dim=64))
    ('best_span',)
    """
    return ("best_span",) if recipe.nuggets is None else ("best_span", "maxsim")


def check_mode(collection: str, mode: Mode, recipe: Recipe) -> None:
    """Raise ``ModeUnavailable`` for a mode of which the collection holds nothing."""
    available = modes_of(recipe)
    if mode not in available:
        use = f"Use mode {' or '.join(available)}."
        raise ModeUnavailable(
            f"The collection {collection} cannot be searched in mode {mode}: it does not hold what the mode searches.",
            hint=f"{_NEEDS[mode]} {use}" if mode in _NEEDS else use,
            field="mode",
        )
