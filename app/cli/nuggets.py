"""Which nuggets a collection keeps: those it was made with or, of a new one, whitened by what will be in it."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from app.cli.console import err
from app.search.encoders import Encoders
from indexer.nuggets.recipe import nugget_recipe
from indexer.types import Recipe
from models.encoders.nugget_pass import NuggetPass
from models.types import Document

if TYPE_CHECKING:
    from indexer.sources import Record

# Of how many documents, from the first one on, a sample is drawn that tells what a new collection is about.
_SAMPLED = 20_000


def chosen_nuggets(
    encoders: Encoders, name: str, made: Recipe | None, ratio: float | None, records: "Iterable[Record] | None"
) -> NuggetPass | None:
    """The nuggets of a collection, new or there already (``made``); without records to whiten them by, as trained."""
    return _kept(encoders, made, ratio, records) if made else _new(encoders, name, ratio, records)


def _kept(
    encoders: Encoders, made: Recipe, ratio: float | None, records: "Iterable[Record] | None"
) -> NuggetPass | None:
    """Those of the collection; others, if others are asked for, which will be refused."""
    nuggets = nugget_recipe(made)
    if nuggets is None:
        return None if ratio is None else NuggetPass(encoders.load_nuggets(made.encoder), ratio)
    kept = encoders.load_nuggets(made.encoder) if records is None else encoders.nugget_pass(made).encoder
    return NuggetPass(kept, nuggets.ratio if ratio is None else ratio)


def _new(encoders: Encoders, name: str, ratio: float | None, records: "Iterable[Record] | None") -> NuggetPass | None:
    """Those of a new collection, whitened by a sample of its records."""
    if ratio is None:
        return None
    if records is None:
        return NuggetPass(encoders.load_nuggets(name), ratio)
    err.print("Reading a sample of the documents, to whiten their nuggets.")
    return NuggetPass(encoders.whiten_nuggets(name, _texts(islice(records, _SAMPLED)), ratio), ratio)


def _texts(records: "Iterable[Record]") -> Iterator[str]:
    return (record.text for record in records if isinstance(record, Document))
