"""Words as a representation of segments."""

from collections.abc import Collection, Sequence
from pathlib import Path

from indexer.representations.base import EncodedWindow, LiveRows, Representation, Storing, Wanted
from indexer.types import Details, Recipe
from indexer.words.files import StoredWords, WordRows, WordWriter
from indexer.words.recipe import DETAILS, NAME
from models.encoders.passes import Maker
from models.encoders.registry import Models
from models.text.words import folded_units


class WordRepresentation(Representation[WordRows]):
    """The words of units: a dictionary, the word of every unit, and the units of every word."""

    name = NAME
    description = "Store words, which modes that read words need."
    alias = "words"
    is_default = True

    def details(self, wanted: Wanted, models: Models) -> Details:
        """The details of words as they are folded now."""
        return DETAILS

    def maker(self, recipe: Recipe, models: Models) -> Maker:
        """Words follow from texts: nothing is added to the network's work."""
        return Maker(DETAILS)

    def rows(self, window: EncodedWindow) -> WordRows:
        """The words of the units that are stored from a window."""
        return WordRows(folded_units(window.text, window.units.spans))

    def join(self, rows: Sequence[WordRows], details: Details) -> WordRows:
        """Put the words of windows behind each other."""
        return WordRows([term for of_window in rows for term in of_window.terms])

    def write(self, folder: Path, details: Details) -> WordWriter:
        """Begin the files of a segment."""
        return WordWriter(folder)

    def merge(self, folder: Path, details: Details, sources: Sequence[LiveRows]) -> int:
        """Copy the words of live documents, and return their number. The words of older segments are read anew."""
        writer = WordWriter(folder)
        try:
            for source in sources:
                if source.stored is None:
                    for text, units in source.parts():
                        writer.append(WordRows(folded_units(text, units)))
                else:
                    writer.append_stored(source.stored, source.units)
            return writer.finish()
        finally:
            writer.close()

    def open(self, folder: Path, details: Details, count: int, files: Collection[str]) -> StoredWords:
        """Map the files of a segment; raises ``SegmentCorrupt`` where their sizes do not fit."""
        return StoredWords.open(folder, count)


def stored_words(segment: Storing) -> StoredWords | None:
    """The words of a segment; None if it has none."""
    stored: StoredWords | None = segment.stored.get(NAME)
    return stored
