"""The nuggets of a collection: its own or, for a new one, nuggets whitened by a sample of its documents."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from app.cli.console import err
from app.search.encoders import Encoders
from indexer.nuggets.recipe import nugget_recipe
from indexer.types import Recipe
from models.encoders.nugget_pass import NuggetPass
from models.types import Document

if TYPE_CHECKING:
    from indexer.sources import Record


def chosen_nuggets(
    encoders: Encoders, name: str, recipe: Recipe | None, ratio: float | None, sample: "Iterable[Record] | None"
) -> NuggetPass | None:
    """The nuggets of a collection, new or existing (with a ``recipe``); without a sample, as trained."""
    return _existing_nuggets(encoders, recipe, ratio, sample) if recipe else _new_nuggets(encoders, name, ratio, sample)


def _existing_nuggets(
    encoders: Encoders, recipe: Recipe, ratio: float | None, sample: "Iterable[Record] | None"
) -> NuggetPass | None:
    """The collection's own nuggets, or the requested ones, which the job refuses if they differ."""
    nuggets = nugget_recipe(recipe)
    if nuggets is None:
        return None if ratio is None else NuggetPass(encoders.load_nuggets(recipe.encoder), ratio)
    as_trained = sample is None
    encoder = encoders.load_nuggets(recipe.encoder) if as_trained else encoders.nugget_pass(recipe).encoder
    return NuggetPass(encoder, nuggets.ratio if ratio is None else ratio)


def _new_nuggets(
    encoders: Encoders, name: str, ratio: float | None, sample: "Iterable[Record] | None"
) -> NuggetPass | None:
    """The nuggets of a new collection, whitened by a sample of its records."""
    if ratio is None:
        return None
    if sample is None:
        return NuggetPass(encoders.load_nuggets(name), ratio)
    err.print("Reading a sample of the documents, to whiten their nuggets.")
    return NuggetPass(encoders.whiten_nuggets(name, _texts(sample), ratio), ratio)


def _texts(records: "Iterable[Record]") -> Iterator[str]:
    return (record.text for record in records if isinstance(record, Document))
