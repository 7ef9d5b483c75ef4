"""Readers of the sets of phrase similarity, by their paths below a data folder. Nothing of them is trained on here."""

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from models.errors import InvalidInput
from models.types import CharSpan

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """Two phrases and how alike they are, on the scale of their set; 1 or 0 where it only says whether they are."""

    first: str
    second: str
    grade: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A phrase, the word that means the same, and words that do not; ``own`` are the words of the phrase itself."""

    phrase: str
    answer: str
    others: tuple[str, ...]
    own: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InText:
    """A phrase where it stands."""

    text: str
    span: CharSpan

    @property
    def phrase(self) -> str:
        """The phrase alone."""
        return self.span.of(self.text)


@dataclass(frozen=True, slots=True)
class PairInText:
    """Two phrases, each in a text, and whether they mean the same there."""

    first: InText
    second: InText
    same: bool


def read_bird(path: Path) -> list[PhrasePair]:
    """BiRD: bigrams, and bigrams or words, with their relatedness from 0 to 1."""
    return _rows(
        path, _table(path), lambda row: PhrasePair(row["term1"], row["term2"], float(row["relatedness score"]))
    )


def read_wikisrs(path: Path) -> list[PhrasePair]:
    """WikiSRS: names of things with their similarity, or relatedness, from 0 to 100."""
    return _rows(path, _table(path), lambda row: PhrasePair(row["String1"], row["String2"], float(row["Mean"])))


def read_patents(path: Path) -> list[PhrasePair]:
    """Phrases of patents with their similarity in steps of a quarter; the patent class they stand in is left aside."""
    rows = _table(path, delimiter=",")
    return _rows(path, rows, lambda row: PhrasePair(row["anchor"], row["target"], float(row["score"])))


def read_semeval(path: Path) -> list[PhrasePair]:
    """SemEval-2013, task 5a: two words with their tags, a word, and whether it means the same as the two."""

    def pair(lines: tuple[str, ...]) -> PhrasePair:
        first, second, word, label = lines
        return PhrasePair(f"{_untagged(first)} {_untagged(second)}", word, float(label))

    return _rows(path, _records(path, 4), pair)


def read_turney(path: Path) -> list[Choice]:
    """Turney (2012): two words with their tags, the answer, the two words again, and four others."""

    def choice(lines: tuple[str, ...]) -> Choice:
        first, second, answer, own_first, own_second, a, b, c, d = lines
        return Choice(f"{_untagged(first)} {_untagged(second)}", answer, (a, b, c, d), (own_first, own_second))

    return _rows(path, _records(path, 9), choice)


def read_pic(path: Path) -> list[PairInText]:
    """PiC phrase similarity: a sentence, and the same with another phrase in the place of one."""

    def pair(row: Mapping[str, str]) -> PairInText:
        start, other = _place(row["sentence1"], row["phrase1"], row["sentence2"], row["phrase2"])
        return PairInText(
            InText(row["sentence1"], CharSpan(start, start + len(row["phrase1"]))),
            InText(row["sentence2"], CharSpan(other, other + len(row["phrase2"]))),
            row["label"] == "positive",
        )

    return _rows(path, map(json.loads, _lines(path)), pair)


def _place(text: str, phrase: str, other: str, other_phrase: str) -> tuple[int, int]:
    """Places of two phrases in two texts: the same place, if both stand there, or the first of each.

    >>> _place("a track, the track was cut", "track", "a track, the road was cut", "road")
    (13, 13)
    """
    starts = (start for start in range(len(text)) if text.startswith(phrase, start))
    same = (start for start in starts if other.startswith(text[:start] + other_phrase))
    first = next(same, None)
    return (first, first) if first is not None else (text.index(phrase), other.index(other_phrase))


def _rows(path: Path, records: Iterable[object], make: Callable[..., Row]) -> list[Row]:
    """Make a row of every record of a file; the first that has another form is an error."""
    rows: list[Row] = []
    for record in records:
        try:
            rows.append(make(record))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"Record {len(rows) + 1} of {path.name} is not of the set's form: {error!r}",
                hint="Get the file anew, as its publisher has it.",
                field="data",
            ) from error
    return rows


def _records(path: Path, size: int) -> Iterator[tuple[str, ...]]:
    """Every so many lines of a file; at the end there may be fewer."""
    lines = _lines(path)
    while record := tuple(islice(lines, size)):
        yield record


def _table(path: Path, delimiter: str = "\t") -> Iterator[dict[str, str]]:
    return csv.DictReader(_lines(path), delimiter=delimiter)


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def _untagged(word: str) -> str:
    return word.split("\t")[0]
