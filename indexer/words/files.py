"""The files of the words of a segment: a positional inverted index over its units.

Every unit has the number of its folded word in a sorted dictionary, from 1; 0 is no word. So the words beside a
position can be read (``unit_words``), and the positions of a word can be found (``word_units``). Sentences and parts
are not stored: ``borders.u8`` and ``parts.arrow`` delimit them. All numbers are little-endian.

========================  ============================================================================================
``unit_words.u32``        uint32 [units]: the word of every unit; 0 where it is none
``word_units.u32``        uint32 [words]: the units of the first word of the dictionary, of the second, ...; each rising
``word_starts.u32``       uint32 [terms + 1]: where the units of a term begin in ``word_units.u32``
``word_bounds.u32``       uint32 [terms + 1]: where a term begins in ``word_terms.utf8``
``word_terms.utf8``       the terms, in the order of their code points, in UTF-8, without separators
========================  ============================================================================================
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from jaxtyping import Int, Integer, UInt8, UInt32

from indexer.arrays import starts_of
from indexer.segments.mapping import mapped
from indexer.words.stems import StemIndex
from models.text.words import Language, stems

OF_UNITS = "unit_words.u32"
UNITS = "word_units.u32"
STARTS = "word_starts.u32"
BOUNDS = "word_bounds.u32"
TERMS = "word_terms.utf8"
_UNITS_A_PIECE = 65_536
# Words whose numbers are kept: a search asks for those of its phrase at every hit.
_KEPT = 4096


class StoredWords:
    """The words of a segment. Terms are numbered from 1."""

    def __init__(
        self,
        of_units: UInt32[np.ndarray, " units"],
        units: UInt32[np.ndarray, " words"],
        starts: UInt32[np.ndarray, " terms_and_one"],
        bounds: UInt32[np.ndarray, " terms_and_one"],
        terms: UInt8[np.ndarray, " bytes"],
    ) -> None:
        self.of_units = of_units
        self._units, self._starts, self._bounds, self._terms = units, starts, bounds, terms
        self._lengths: dict[str, Int[np.ndarray, " whole_spans"]] = {}
        self._stems: dict[Language, StemIndex] = {}
        self._numbers: dict[str, int] = {}

    @classmethod
    def open(cls, folder: Path, words: int) -> Self:
        """The words of a folder, mapped into memory."""
        units, bounds = ((folder / name).stat().st_size // 4 for name in (OF_UNITS, BOUNDS))
        return cls(
            mapped(folder / OF_UNITS, "<u4", (units,)),
            mapped(folder / UNITS, "<u4", (words,)),
            mapped(folder / STARTS, "<u4", (bounds,)),
            mapped(folder / BOUNDS, "<u4", (bounds,)),
            mapped(folder / TERMS, np.uint8, ((folder / TERMS).stat().st_size,)),
        )

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """The same for folded words of units in memory; empty where a unit is no word.

        >>> stored = StoredWords.of(["go", "", "on", "go"])
        >>> stored.of_units.tolist(), stored.units(stored.number("go")).tolist(), len(stored)
        ([1, 0, 2, 1], [0, 3], 3)
        """
        terms = sorted(set(words) - {""})
        numbers = {term: number for number, term in enumerate(terms, 1)} | {"": 0}
        of_units = np.fromiter((numbers[word] for word in words), "<u4", len(words))
        encoded = [term.encode() for term in terms]
        arrays = (
            of_units,
            np.argsort(of_units, kind="stable")[np.count_nonzero(of_units == 0) :].astype("<u4"),
            starts_of(np.bincount(of_units, minlength=len(terms) + 1)[1:]).astype("<u4"),
            starts_of(np.array([len(term) for term in encoded], np.int64)).astype("<u4"),
            np.frombuffer(b"".join(encoded), np.uint8),
        )
        for array in arrays:
            array.flags.writeable = False  # as mapped files are: kernels are compiled for one kind
        return cls(*arrays)

    def __len__(self) -> int:
        return len(self._units)

    @property
    def terms(self) -> int:
        """The number of different words."""
        return len(self._bounds) - 1

    def term(self, number: int) -> str:
        """The folded word of this number."""
        return self._bytes(number - 1).decode()

    def number(self, term: str) -> int:
        """The number of a folded word; 0 if the segment does not hold it."""
        number = self._numbers.get(term)
        if number is None:
            row = bisect_left(range(self.terms), term.encode(), key=self._bytes)
            number = row + 1 if row < self.terms and self._bytes(row) == term.encode() else 0
            if len(self._numbers) >= _KEPT:
                self._numbers.clear()
            self._numbers[term] = number
        return number

    def with_prefix(self, prefix: str) -> range:
        """The numbers of all words that begin so."""
        start = prefix.encode()
        first = bisect_left(range(self.terms), start, key=self._bytes)
        return range(
            first + 1, bisect_right(range(self.terms), start, first, key=lambda row: self._bytes(row)[: len(start)]) + 1
        )

    def with_stem(self, word: str, language: Language) -> list[int]:
        """The numbers of all words that share their stem with a folded word, rising.

        The first call for a language computes the stems of all words.

        >>> stored = StoredWords.of(["plan", "a", "plans", "planned", "plane"])
        >>> [stored.term(number) for number in stored.with_stem("planning", "english")]
        ['plan', 'planned', 'plans']
        """
        if language not in self._stems:
            self._stems[language] = StemIndex([self.term(number + 1) for number in range(self.terms)], language)
        (stem,) = stems([word], language)
        numbers = self._stems[language].candidates(stem)
        of_numbers = stems([self.term(number) for number in numbers], language)
        return [number for number, each in zip(numbers, of_numbers, strict=True) if each == stem]

    def units(self, number: int) -> UInt32[np.ndarray, " occurrences"]:
        """The units that are this word, rising."""
        first, last = self._starts[number - 1 : number + 1].tolist()
        return self._units[first:last]

    def lengths(self, name: str, bounds: Int[np.ndarray, " whole_spans_and_one"]) -> Int[np.ndarray, " whole_spans"]:
        """The number of words of every whole span, computed once for every name of a division into whole spans."""
        if name not in self._lengths:
            words = np.append(0, np.cumsum(self.of_units > 0))
            self._lengths[name] = np.diff(words[bounds])
        return self._lengths[name]

    def _bytes(self, row: int) -> bytes:
        first, last = self._bounds[row : row + 2].tolist()
        return self._terms[first:last].tobytes()


@dataclass(frozen=True, slots=True)
class WordRows:
    """The folded words of units, in order; empty where a unit is no word."""

    terms: list[str]

    def __len__(self) -> int:
        return sum(map(bool, self.terms))


class WordWriter:
    """Appends the words of units. Terms are numbered as they come, and anew when all are there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / OF_UNITS).open("wb")
        self._numbers: dict[str, int] = {"": 0}

    def append(self, rows: WordRows, first_unit: int = 0) -> None:
        """Append the words of the next units, whatever their number in the segment."""
        numbers, terms = self._numbers, rows.terms
        of_units = np.fromiter((numbers.setdefault(term, len(numbers)) for term in terms), "<u4", len(terms))
        self._file.write(of_units.tobytes())

    def append_stored(self, stored: StoredWords, runs: Int[np.ndarray, "runs 2"]) -> None:
        """Append the words of some units of a segment."""
        numbers = np.zeros(stored.terms + 1, "<u4")
        for first, last in runs.tolist():
            for start in range(first, last, _UNITS_A_PIECE):
                of_units = stored.of_units[start : min(start + _UNITS_A_PIECE, last)]
                for number in np.unique(of_units[(numbers[of_units] == 0) & (of_units > 0)]).tolist():
                    numbers[number] = self._numbers.setdefault(stored.term(number), len(self._numbers))
                self._file.write(numbers[of_units].tobytes())

    def finish(self) -> int:
        """Write the dictionary and the units of every word, and return the number of words."""
        self.close()
        del self._numbers[""]
        terms = sorted(self._numbers)
        encoded = [term.encode() for term in terms]
        (self._folder / TERMS).write_bytes(b"".join(encoded))
        self._write(BOUNDS, starts_of(np.array([len(term) for term in encoded], np.int64)))
        new_numbers = np.zeros(len(terms) + 1, "<u4")
        new_numbers[[self._numbers[term] for term in terms]] = np.arange(1, len(terms) + 1)
        starts = starts_of(self._renumber(new_numbers)[1:])
        self._write(STARTS, starts)
        self._write_units(starts)
        return int(starts[-1])

    def _renumber(self, numbers: UInt32[np.ndarray, " terms_and_one"]) -> Int[np.ndarray, " terms_and_one"]:
        """Give all terms their new numbers, and count their units."""
        of_units = _writable(self._folder / OF_UNITS)
        counts = np.zeros(len(numbers), np.int64)
        for start in range(0, len(of_units), _UNITS_A_PIECE):
            piece = numbers[of_units[start : start + _UNITS_A_PIECE]]
            of_units[start : start + _UNITS_A_PIECE] = piece
            counts += np.bincount(piece, minlength=len(numbers))
        return counts

    def _write_units(self, starts: Int[np.ndarray, " terms_and_one"]) -> None:
        path = self._folder / UNITS
        with path.open("wb") as file:
            file.truncate(4 * int(starts[-1]))
        from indexer import kernels  # numba, which recipes do without

        kernels.group_units(_writable(self._folder / OF_UNITS), starts[:-1].copy(), _writable(path))

    def _write(self, name: str, numbers: Integer[np.ndarray, " numbers"]) -> None:
        (self._folder / name).write_bytes(numbers.astype("<u4").tobytes())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _writable(path: Path) -> UInt32[np.ndarray, " numbers"]:
    """Map a file of numbers for changes."""
    if not path.stat().st_size:
        return np.zeros(0, "<u4")
    return np.memmap(path, "<u4", "r+").view(np.ndarray)
