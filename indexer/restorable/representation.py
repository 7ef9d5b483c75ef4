"""Restorable vectors as a representation of segments."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.representations.base import EncodedWindow, Representation, Wanted
from indexer.representations.columns import ColumnRepresentation
from indexer.representations.stored import Dim, StoredDetails
from indexer.restorable.files import COLUMNS, NAME, RestorableRows, no_rows
from indexer.restorable.models import Restoring
from indexer.restorable.pieces import pieces
from indexer.types import Details, Recipe
from models.encoders.passes import Maker
from models.encoders.registry import Models
from models.encoders.restorable.base import Restorer
from models.ops.quantization import quantize_directions
from models.text.units import TextForm
from models.types import CharSpan

if TYPE_CHECKING:
    from indexer.restorable.texts import RestoredTexts


# A long part has many windows, which come together.
@lru_cache(maxsize=8)
def _pieces_of_part(text: str, restorer: Restorer, form: TextForm) -> tuple[CharSpan, ...]:
    return tuple(pieces(text, restorer, form))


@dataclass(frozen=True, slots=True)
class PendingRows:
    """Sentences that are encoded once all windows of a pool are there: small batches take ten times as long."""

    restorer: Restorer
    texts: Sequence[str]
    units: Sequence[int]

    def __len__(self) -> int:
        return len(self.texts)


class RestorableDetails(StoredDetails):
    """The details of a recipe with restorable vectors."""

    dim: Dim
    compared: Dim
    store_text: bool = True


# Any, because windows have other rows than pools.
class RestorableRepresentation(ColumnRepresentation, Representation[Any]):
    """Restorable vectors of sentences: those that are compared in int8, those that are restored in fp16."""

    name = NAME
    stored = RestorableDetails
    description = "Store vectors that give sentences back, which mode restorable needs."
    alias = "restorable"
    needs_text = False
    restores_text = True
    columns = COLUMNS
    rows_a_piece = 1_024

    def details(self, wanted: Wanted, models: Models) -> Details:
        """The details of the restorer's vectors, and whether texts are stored beside them."""
        return restorable_details(models.shared(Restoring).restorer, store_text=wanted.store_text)

    def maker(self, recipe: Recipe, models: Models) -> Maker:
        """Hands the collection's restorer on: vectors follow from texts."""
        return Maker(recipe.details[NAME], self.texts(recipe, models).restorer)

    def texts(self, recipe: Recipe, models: Models) -> "RestoredTexts":
        """The texts of a collection, restored. Raises ``RecipeMismatch`` if the weights have changed."""
        return models.shared(Restoring).matching(recipe)

    def rows(self, window: EncodedWindow) -> PendingRows:
        """The sentences that begin in a window, read to their end."""
        spans = window.units.spans
        chosen = [
            (int(np.searchsorted(spans[:, 1], piece.start, side="right")), piece.of(window.text))
            for piece in _pieces_of_part(window.text, window.output, window.form)
            if spans[0, 0] <= piece.start < spans[-1, 1]
        ]
        units = [window.first_unit + unit for unit, _ in chosen]
        return PendingRows(window.output, [text for _, text in chosen], units)

    def join(self, rows: Sequence[PendingRows], details: Details) -> RestorableRows:
        """The vectors of the sentences of all windows."""
        texts = [text for window in rows for text in window.texts]
        if not texts:
            return no_rows(*_sizes(details))
        return _encoded(rows[0].restorer, texts, [unit for window in rows for unit in window.units])

    def open(self, folder: Path, details: Details, count: int, files: Collection[str]) -> RestorableRows:
        """Map the files of a segment; raises ``SegmentCorrupt`` where their sizes do not fit."""
        return RestorableRows.open(folder, count, *_sizes(details))


def _encoded(restorer: Restorer, texts: Sequence[str], units: Sequence[int]) -> RestorableRows:
    memories = restorer.encode(texts)
    codes, scales = quantize_directions(np.stack([memory[0, : restorer.compared] for memory in memories]))
    return RestorableRows(
        codes,
        scales,
        np.concatenate([memory[:, restorer.compared :] for memory in memories]).astype(np.float16),
        np.array([len(memory) for memory in memories], np.uint8),
        np.array(units, np.int64),
    )


def _sizes(details: Details) -> tuple[int, int]:
    values: Any = details
    return values["dim"], values["compared"]


def restorable_details(restorer: Restorer, *, store_text: bool = True) -> Details:
    """The details of a restorer's vectors. ``store_text`` says whether texts are stored beside them."""
    return {
        "fingerprint": restorer.fingerprint,
        "dim": restorer.dim,
        "compared": restorer.compared,
        "store_text": store_text,
    }
