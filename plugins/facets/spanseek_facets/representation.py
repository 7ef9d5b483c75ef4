"""Facets as a representation of segments, and their files.

A row is a sentence with a word that the word vectors have; others have no facets. Rows are in the order of their units.
All numbers are little-endian.

=====================  ===============================================================================================
``facets.i8``          int8 [rows, facets, dim]: the facets of every sentence, quantised
``facet_scales.f32``   float32 [rows, facets]: the value of one step of a facet's int8 vector, which then has length 1
``facet_units.u32``    uint32 [rows]: the first unit of the sentence
=====================  ===============================================================================================
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int, Int8, Integer

from indexer.representations.base import EncodedWindow, Representation, Storing, Wanted
from indexer.representations.columns import ArrayRows, ColumnRepresentation
from indexer.representations.stored import Dim, StoredDetails
from indexer.segments.mapping import mapped
from indexer.types import Details, Recipe
from models.encoders.passes import Maker
from models.encoders.registry import Models
from models.ops.quantization import quantize_directions
from models.text.borders import sentence_spans
from spanseek_facets.model import FacetModel
from spanseek_facets.shipped import NAME, Facets, facet_details

CODES, SCALES, UNITS = "facets.i8", "facet_scales.f32", "facet_units.u32"
COLUMNS = {CODES: "i1", SCALES: "<f4", UNITS: "<u4"}
# A long part has many windows, which come together.
_spans_of_part = lru_cache(maxsize=8)(sentence_spans)


@dataclass(frozen=True, slots=True)
class FacetRows(ArrayRows):
    """Quantised facets of sentences and the first units of these, in memory or mapped from a segment's files."""

    codes: Int8[np.ndarray, "rows facets dim"]
    scales: Float32[np.ndarray, "rows facets"]
    units: Integer[np.ndarray, " rows"]

    @classmethod
    def open(cls, folder: Path, rows: int, facets: int, dim: int) -> "FacetRows":
        """Map the files of a segment."""
        return cls(
            mapped(folder / CODES, np.int8, (rows, facets, dim)),
            mapped(folder / SCALES, "<f4", (rows, facets)),
            mapped(folder / UNITS, "<u4", (rows,)),
        )

    def vectors(self, rows: Int[np.ndarray, " some"] | slice) -> Float32[np.ndarray, "some facets dim"]:
        """The unit facets of some rows."""
        return self.codes[rows].astype(np.float32) * self.scales[rows][..., None]


class FacetDetails(StoredDetails):
    """The details of a recipe with facets."""

    facets: Dim
    dim: Dim


class FacetRepresentation(ColumnRepresentation, Representation[FacetRows]):
    """The facets of sentences that have words: int8 vectors."""

    name = NAME
    stored = FacetDetails
    description = "Store the facets of sentences, which mode facets needs."
    alias = "facets"
    columns = COLUMNS
    rows_a_piece = 4_096

    def details(self, wanted: Wanted, models: Models) -> Details:
        """The details of the facets of sentences that are loaded."""
        return facet_details(models.shared(Facets).sentences)

    def maker(self, recipe: Recipe, models: Models) -> Maker:
        """Return a maker that only passes on the collection's model: facets are computed from texts."""
        return Maker(recipe.details[NAME], models.shared(Facets).matching(recipe))

    def rows(self, window: EncodedWindow) -> FacetRows:
        """The facets of the sentences that begin in a window, read to their end."""
        starts = window.units.spans[:, 0]
        units, texts = [], []
        for span in _spans_of_part(window.text, window.form):
            unit = int(np.searchsorted(starts, span.start))
            if unit < len(starts) and starts[unit] == span.start:
                units.append(window.first_unit + unit)
                texts.append(span.of(window.text))
        return _encoded(window.output, texts, units)

    def join(self, rows: Sequence[FacetRows], details: Details) -> FacetRows:
        """Put the facets of windows behind each other."""
        facets, dim = _shape(details)
        none = np.zeros((0, facets, dim), np.int8), np.zeros((0, facets), np.float32), np.zeros(0, np.int64)
        return FacetRows(*none).followed_by(rows)

    def open(self, folder: Path, details: Details, count: int, files: Collection[str]) -> FacetRows:
        """Map the files of a segment; raises ``SegmentCorrupt`` where their sizes do not fit."""
        return FacetRows.open(folder, count, *_shape(details))


def stored_facets(segment: Storing) -> FacetRows:
    """The facets of a segment whose collection has some."""
    stored: FacetRows = segment.stored[NAME]
    return stored


def _encoded(model: FacetModel, texts: Sequence[str], units: Sequence[int]) -> FacetRows:
    """The facets of the texts that have a word."""
    rows = [row for row, text in enumerate(texts) if len(model.words.text_ids(text))]
    shape = len(rows), model.shape.facets
    facets = model.encode([texts[row] for row in rows])
    codes, scales = quantize_directions(facets.reshape(-1, model.shape.dim))
    of_units = np.array([units[row] for row in rows], np.int64)
    return FacetRows(codes.reshape(*shape, model.shape.dim), scales.reshape(shape), of_units)


def _shape(details: Details) -> tuple[int, int]:
    values: Any = details
    return values["facets"], values["dim"]
