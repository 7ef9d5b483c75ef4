"""Triplets of section 3.1 of the SLICE paper, in a file: a query, a text with a match for it, a text without one."""

import json
import math
import random
from array import array
from collections.abc import Iterable, Set
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from research.training.ndjson import Form, check_file
from research.training.sources import fold

FORM = Form(
    ("query", "positive", "negative"),
    '{"query": "cancel my order", "positive": "Hello, I no longer want what I ordered.", "negative": "Where is it?"}',
    "triplets",
)


@dataclass(frozen=True, slots=True)
class Triplet:
    """A query, a text that holds what means the same, and one that does not."""

    query: str
    positive: str
    negative: str


class TripletFile:
    """The triplets of an NDJSON file, read where they are needed: memory is eight bytes a line.

    The whole file is checked at first, so that no run ends at a broken line after hours. Triplets that have an
    ``excluded`` sentence are passed over.
    """

    def __init__(self, path: Path, excluded: Iterable[str] = ()) -> None:
        self.path = path
        self._offsets = _checked_offsets(path, {fold(text) for text in excluded})

    def __len__(self) -> int:
        return len(self._offsets)

    def batch(self, step: int, count: int, seed: int) -> list[Triplet]:
        """The triplets of one step (counted from 0): the same in every run, each once before any comes again."""
        numbers = (place(number, len(self), seed) for number in range(step * count, (step + 1) * count))
        with self.path.open("rb") as file:
            return [self._read(file, number) for number in numbers]

    def _read(self, file: BufferedReader, number: int) -> Triplet:
        file.seek(self._offsets[number])
        value = json.loads(_decoded(file.readline()))
        return Triplet(value["query"], value["positive"], value["negative"])


def place(number: int, rows: int, seed: int) -> int:
    """Where the triplet stands that comes at ``number``: every round goes through all rows, in an order of its own.

    The order is that of steps of one length around a circle, which a length without a common divisor leads past
    every row. It takes no memory.

    >>> sorted(place(number, 6, seed=1) for number in range(12, 18))
    [0, 1, 2, 3, 4, 5]
    """
    lap, within = divmod(number, rows)
    rng = random.Random(f"triplets/{seed}/{lap}")  # noqa: S311  sampling, not secrets
    begin, stride = rng.randrange(rows), rng.randrange(rows)
    while math.gcd(stride, rows) != 1:
        stride += 1
    return (begin + within * stride) % rows


def _checked_offsets(path: Path, unwanted: Set[str]) -> "array[int]":
    """Where every line begins that is not blank and not unwanted; the first that is no triplet is an error."""
    check_file(path, FORM)
    if path.suffix == ".gz":
        raise FORM.refused(str(path), "it is compressed, and lines are read from all over it")
    offsets, offset = array("q"), 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                value = FORM.parse(_decoded(line), f"{path.name}:{number}")
                if not unwanted or unwanted.isdisjoint(fold(value[name]) for name in FORM.texts):
                    offsets.append(offset)
            offset += len(line)
    if not offsets:
        raise FORM.refused(str(path), "there are no triplets in it")
    return offsets


def _decoded(line: bytes) -> str:
    """As ``research.training.ndjson.open_text`` decodes."""
    return line.decode("utf-8-sig", "replace")
