"""Sentence similarity: how well does the cosine of two sentences, each encoded alone, follow what people said?

Two sets, the STS benchmark and SICK, each with a split to choose by and one to report only. Where a data folder has
STS 2012 to 2016, they are reported with the latter.
"""

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from models.encoders.base import Encoder
from models.errors import InvalidInput
from research.evaluation.significance import Correlations, correlations
from research.evaluation.texts import encode_texts
from research.training.sources import fold, lines

Split: TypeAlias = Literal["dev", "test"]


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences and how alike people found them, on the scale of their set."""

    first: str
    second: str
    grade: float


@dataclass(frozen=True, slots=True)
class SentenceSet:
    """A set's files below a data folder, of which the first that is there counts, and its tab-separated columns."""

    dev: tuple[str, ...]
    test: tuple[str, ...]
    first: int
    second: int
    grade: int
    header: bool

    def read(self, path: Path) -> list[SentencePair]:
        """All pairs of a file. Fields are not quoted."""
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            lines = list(file)[self.header :]
        return [self._pair(path, line.rstrip("\n").split("\t")) for line in lines]

    def _pair(self, path: Path, fields: Sequence[str]) -> SentencePair:
        try:
            return SentencePair(fields[self.first], fields[self.second], float(fields[self.grade]))
        except (IndexError, ValueError) as error:
            raise InvalidInput(
                f"{path.name} has a line that is no graded pair: {' | '.join(fields)[:80]}",
                hint=f"Columns {self.first + 1} and {self.second + 1} are sentences, {self.grade + 1} is their grade.",
                field="data",
            ) from error


SETS = {
    "stsb": SentenceSet(
        dev=("stsb/sts-dev.csv",),
        test=("stsb/sts-test.csv", "stsb/sts-test.minus-heldout.csv"),
        first=5,
        second=6,
        grade=4,
        header=False,
    ),
    "sick": SentenceSet(
        dev=("sick/SICK_trial.txt",), test=("sick/SICK_test_annotated.txt",), first=1, second=2, grade=3, header=True
    ),
}


# Folders with files STS.input.NAME.txt, two sentences a line, and STS.gs.NAME.txt, a grade a line or none.
YEARS = {f"sts{year}": f"sts12-16/STS{year}-en-test" for year in range(12, 17)}


def read_year(folder: Path) -> list[SentencePair]:
    """The graded pairs of all files of a year."""
    pairs = []
    for path in sorted(folder.glob("STS.input.*.txt*")):
        grades = folder / path.name.removesuffix(".gz").replace("STS.input.", "STS.gs.")
        for line, grade in zip(lines(path), lines(grades), strict=True):
            if grade.strip():
                first, second = line.rstrip("\n").split("\t")[:2]
                pairs.append(SentencePair(first, second, float(grade)))
    return pairs


@dataclass(frozen=True, slots=True)
class SentenceFigures:
    """The file or folder, its pairs, the encoder's correlations, and these less those of the untrained encoder."""

    file: str
    pairs: int
    pearson: float
    spearman: float
    difference: Correlations


def evaluate_sentences(
    encoder: Encoder, untrained: Encoder, data: Path, split: Split, excluded: Iterable[str] = ()
) -> dict[str, SentenceFigures]:
    """Figures of every set, by its name, from one split of the data, less pairs with an excluded sentence."""
    paths = {name: find_file(data, form, split) for name, form in SETS.items()}
    pairs = {name: (path.name, SETS[name].read(path)) for name, path in paths.items()}
    if split == "test":
        folders = {name: data / folder for name, folder in YEARS.items()}
        pairs |= {name: (path.name, read_year(path)) for name, path in folders.items() if path.is_dir()}
    unwanted = {fold(text) for text in excluded}
    return {
        name: _figures(encoder, untrained, file, [pair for pair in of_set if unwanted.isdisjoint(_folded(pair))])
        for name, (file, of_set) in pairs.items()
    }


def _folded(pair: SentencePair) -> tuple[str, str]:
    return fold(pair.first), fold(pair.second)


def find_file(data: Path, form: SentenceSet, split: Split) -> Path:
    """Path of a split of a set in a data folder. Raises ``InvalidInput`` where there is none."""
    names = form.dev if split == "dev" else form.test
    for path in (data / (name + suffix) for name in names for suffix in ("", ".gz")):
        if path.is_file():
            return path
    raise InvalidInput(
        f"{data} lacks {names[0]}, also with .gz.",
        hint="Give the folder that holds the STS benchmark in stsb/ and SICK in sick/.",
        field="data",
    )


def cosines(encoder: Encoder, pairs: Sequence[SentencePair]) -> Float[np.ndarray, " pairs"]:
    """The cosine of the two sentences of every pair.

    >>> from models.encoders.hashing import HashingEncoder
    >>> cosines(HashingEncoder(), [SentencePair("one two", "Two one", 5.0)]).round(3).tolist()
    [1.0]
    """
    first = encode_texts(encoder, [pair.first for pair in pairs])
    return np.einsum("pd,pd->p", first, encode_texts(encoder, [pair.second for pair in pairs]))


def _figures(encoder: Encoder, untrained: Encoder, file: str, pairs: Sequence[SentencePair]) -> SentenceFigures:
    grades = np.array([pair.grade for pair in pairs])
    figures, before = (correlations(cosines(each, pairs), grades) for each in (encoder, untrained))
    difference = Correlations(round(figures.pearson - before.pearson, 6), round(figures.spearman - before.spearman, 6))
    return SentenceFigures(file, len(pairs), figures.pearson, figures.spearman, difference)
