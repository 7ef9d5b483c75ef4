"""Nuggets as a representation of segments."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from indexer.nuggets.files import COLUMNS, NuggetWriter, StoredNuggets
from indexer.nuggets.models import NuggetModels
from indexer.nuggets.recipe import NAME, NuggetRecipe
from indexer.nuggets.rows import NuggetRows, joined, rows_of
from indexer.representations.base import EncodedWindow, Representation, Storing, Wanted
from indexer.representations.columns import ColumnRepresentation
from indexer.representations.stored import Dim, StoredDetails
from indexer.types import Details, Recipe
from models.encoders.nuggets.base import check_ratio
from models.encoders.nuggets.forward_pass import NuggetPass
from models.encoders.passes import Maker
from models.encoders.registry import Models


@dataclass(frozen=True, slots=True)
class NuggetOptions:
    """The share of tokens that are stored as nuggets. Raises ``InvalidInput`` for a ratio outside (0, 1]."""

    ratio: Annotated[
        float,
        Field(description="Store nuggets, for mode maxsim: this share of all tokens, 0.05 to 0.25.", strict=True),
    ] = 0.1

    def __post_init__(self) -> None:
        check_ratio(self.ratio)


@dataclass(frozen=True, slots=True)
class Nuggets:
    """The nuggets of a collection."""

    ratio: Annotated[float, Field(description="Of n tokens of a window, ceil(n * ratio) are nuggets.")]
    fingerprint: Annotated[str, Field(description="Architecture and weights of the nuggets' encoder.")]
    dim: Annotated[int, Field(description="The dimension of query vectors in mode maxsim.")]


class NuggetDetails(StoredDetails):
    """The details of a recipe with nuggets."""

    dim: Dim
    ratio: Annotated[float, Field(gt=0, le=1)]


class NuggetRepresentation(ColumnRepresentation, Representation[NuggetRows]):
    """Token vectors that represent windows: files of int8 vectors, and a FAISS index if there are many."""

    name = NAME
    stored = NuggetDetails
    description = "Store nuggets, which mode maxsim needs."
    options = NuggetOptions
    alias = "nugget_ratio"
    answer = Nuggets
    columns = COLUMNS
    rows_a_piece = 16_384

    def details(self, wanted: Wanted, models: Models) -> Details:
        """The details of the nuggets of a collection: of a new one with texts whitened by them."""
        nuggets, ratio = models.shared(NuggetModels), wanted.options.ratio
        if wanted.as_trained or (wanted.before is None and wanted.texts is None):
            encoder = nuggets.trained(wanted.encoder)
        elif wanted.before is not None:
            encoder = nuggets.matching(wanted.encoder, _made(wanted.before)).encoder
        else:
            encoder = nuggets.whiten(wanted.encoder, wanted.texts or (), ratio)
        return NuggetPass(encoder, ratio).maker.details

    def maker(self, recipe: Recipe, models: Models) -> Maker:
        """Makes the collection's nuggets, from layers of the encoder's network."""
        return models.shared(NuggetModels).matching(recipe.encoder, _made(recipe.details[NAME])).maker

    def keep(self, details: Details, models: Models) -> None:
        """Keep the whitening of a new collection."""
        models.shared(NuggetModels).keep(_made(details).fingerprint)

    def forget(self, details: Details, models: Models, is_used: Callable[[], bool]) -> None:
        """Remove the whitening of a collection that is gone."""
        models.shared(NuggetModels).forget(_made(details).fingerprint, is_used)

    def rows(self, window: EncodedWindow) -> NuggetRows:
        """Return the nuggets of a window that are stored."""
        return rows_of(window)

    def join(self, rows: Sequence[NuggetRows], details: Details) -> NuggetRows:
        """Put the nuggets of windows behind each other."""
        return joined(rows, _made(details).dim)

    def write(self, folder: Path, details: Details) -> NuggetWriter:
        """Begin the files of a segment."""
        return NuggetWriter(folder, _made(details).dim)

    def open(self, folder: Path, details: Details, count: int, files: Collection[str]) -> StoredNuggets:
        """Map the files of a segment; raises ``SegmentCorrupt`` where their sizes do not fit."""
        return StoredNuggets(folder, count, _made(details).dim, files)


def stored_nuggets(segment: Storing) -> StoredNuggets:
    """Return the nuggets of a segment whose collection has some."""
    stored: StoredNuggets = segment.stored[NAME]
    return stored


def _made(details: Details) -> NuggetRecipe:
    values: Any = details
    return NuggetRecipe(**values)
