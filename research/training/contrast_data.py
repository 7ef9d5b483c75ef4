"""Contrast lines: a phrase, two texts that say it, and two that do not (``research/data/README.md``)."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Final, Literal, get_args

Kind = Literal["number", "antonym", "negation", "object", "action", "role", "modality", "condition", "scope", "topic"]
Column = Literal["same", "same_close", "differs", "differs_far"]
WRITTEN: Final = Path(__file__).parents[1] / "data" / "contrast"
_WORD: Final = re.compile(r"[a-z']{4,}")


@dataclass(frozen=True, slots=True)
class ContrastLine:
    """A phrase with four texts: they say it or not, in its words or in others."""

    id: str
    domain: str
    kind: Kind
    phrase: str
    same: str
    same_close: str
    differs: str
    differs_far: str

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.id} has the kind {self.kind!r}, which is none of {', '.join(get_args(Kind))}")
        if not all(isinstance(text, str) and text.strip() for text in asdict(self).values()):
            raise ValueError(f"a text of {self.id} is empty")

    @property
    def pairs(self) -> tuple[tuple[str, bool], ...]:
        """The four texts, and whether each says the phrase."""
        return (self.same, True), (self.same_close, True), (self.differs, False), (self.differs_far, False)

    def overlap(self, column: Column) -> float:
        """The share of the phrase's words of four letters or more that a text has.

        >>> line = ContrastLine("a", "general", "object", "cancel the order", "Stop it.", "Cancel it", "An order", "No")
        >>> line.overlap("same_close"), line.overlap("same")
        (0.5, 0.0)
        """
        return shared_words(self.phrase, str(getattr(self, column)))


def shared_words(phrase: str, text: str) -> float:
    """The share of a phrase's words of four letters or more that a text has, in [0, 1].

    >>> shared_words("cancel the order", "An order")
    0.5
    """
    words = set(_WORD.findall(phrase.lower()))
    return len(words & set(_WORD.findall(text.lower()))) / max(len(words), 1)


def read_contrast(paths: Iterable[Path] | None = None) -> Iterator[ContrastLine]:
    """The lines of some files; by default all that were written for the project.

    Raises ``ValueError``, with the file and the line, for one that is not of this form.
    """
    for path in sorted(WRITTEN.glob("*.ndjson")) if paths is None else paths:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield ContrastLine(**json.loads(line))
                except (TypeError, ValueError) as error:
                    raise ValueError(f"{path.name}, line {number}: {error}") from error


def overlaps(lines: Sequence[ContrastLine]) -> dict[Column, float]:
    """The mean overlap of each column."""
    return {column: mean(line.overlap(column) for line in lines) for column in get_args(Column)}


def lengths(lines: Sequence[ContrastLine]) -> dict[Column, float]:
    """The mean number of words of each column."""
    return {column: mean(len(str(getattr(line, column)).split()) for line in lines) for column in get_args(Column)}
