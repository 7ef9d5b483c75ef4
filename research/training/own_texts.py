"""Training files that a user supplies: texts, graded pairs and triplets, checked line by line."""

import gzip
import hashlib
import io
import json
import math
import random
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Any, cast

from indexer.ndjson import InvalidLine, parse_json
from models.errors import InvalidInput
from models.ops.sampling import sample
from models.types import JsonValue
from research.training.sources import GradedPair, fold

WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Form:
    """Required contents of a line: texts with words in them, and a score from 0 to 1 if one is asked for.

    ``example`` is shown to whoever sends something else; ``field`` is the option that named the file.
    """

    texts: tuple[str, ...]
    example: str
    field: str
    score: bool = False

    def parse(self, line: str, where: str) -> dict[str, Any]:
        """The object of a line; raises ``InvalidInput``, with the place, for any other.

        >>> Form(("query",), '{"query": "a phrase"}', "pairs").parse('{"query": "late fees", "id": 7}', "line 1")["id"]
        7
        """
        value = parse_json(line.encode())
        if isinstance(value, InvalidLine):
            raise self.refused(where, value.reason)
        reason = self._fault(value)
        if reason:
            raise self.refused(where, reason)
        return cast("dict[str, Any]", value)

    def refused(self, where: str, reason: str) -> InvalidInput:
        """The error for a place in a file, or for the file."""
        return InvalidInput(
            f"{where} cannot be trained on: {reason}.", hint=f"Every line is like {self.example}", field=self.field
        )

    def _fault(self, value: object) -> str:
        if not isinstance(value, dict):
            return "it is not an object"
        for name in self.texts:
            if not isinstance(value.get(name), str) or not WORD.search(value[name]):
                return f"{name} is not a text with words in it"
        if self.score and not _is_score(value.get("score")):
            return "score is not a number from 0 to 1"
        return ""


def _is_score(value: object) -> bool:
    # JSON's true is an int to Python.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def read_lines(path: Path, form: Form) -> Iterator[dict[str, Any]]:
    """The object of every line; blank lines are passed over."""
    check_file(path, form)
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                yield form.parse(line, f"{path.name}:{number}")


def check_file(path: Path, form: Form) -> None:
    """Refuse what is no file."""
    if not path.is_file():
        raise form.refused(str(path), "there is no such file")


def open_text(path: Path) -> TextIOWrapper:
    """A text file, also one in gzip. Bytes that are no UTF-8 are replaced."""
    encoding, errors = "utf-8-sig", "replace"
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, errors=errors)
    return path.open(encoding=encoding, errors=errors)


MOST = 100_000
LONGEST = 2_000
TEXTS = Form(("text",), '{"text": "Any text."}', "texts")
PAIRS = Form(
    ("query", "paraphrase"),
    '{"query": "cancel my order", "paraphrase": "I no longer want it", "score": 0.8}',
    "pairs",
    score=True,
)
_ENDINGS = (".ndjson", ".jsonl", ".txt")


def read_own_texts(path: Path, seed: int, most: int = MOST) -> list[str]:
    """At most so many paragraphs of a file, or of all files below a folder, each as likely as any other.

    Memory is that of so many paragraphs of ``LONGEST`` characters, whatever the size of the files.
    """
    paragraphs = (text for file in _files(path) for text in _paragraphs_of(file) if WORD.search(text))
    drawn = sample(paragraphs, most, random.Random(f"texts/{seed}"))  # noqa: S311  sampling, not secrets
    if not drawn:
        raise TEXTS.refused(str(path), "there are no texts in it")
    return drawn


def read_graded_pair_file(path: Path) -> list[GradedPair]:
    """All graded pairs of an NDJSON file."""
    return [GradedPair(line["query"], line["paraphrase"], float(line["score"])) for line in read_lines(path, PAIRS)]


def digests(paths: Mapping[str, Path | None]) -> dict[str, JsonValue]:
    """SHA-256 of files, or of all below folders, by what they are to a run: it goes on with no others."""
    return {name: _digest(path) for name, path in paths.items() if path}


def _digest(path: Path) -> str:
    whole = hashlib.sha256()
    for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if one.is_file():
            with one.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in sorted(path.rglob("*")) if _ending(file) in _ENDINGS]
    if path.is_file() and _ending(path) in _ENDINGS:
        return [path]
    raise InvalidInput(
        f"{path} is no file of texts, and no folder of them.",
        hint=f"Files of texts end in {', '.join(_ENDINGS)}, also with .gz behind it.",
        field="texts",
    )


def _ending(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def _paragraphs_of(path: Path) -> Iterator[str]:
    if _ending(path) != ".txt":
        for line in read_lines(path, TEXTS):
            yield from paragraphs(io.StringIO(line["text"]))
        return
    with open_text(path) as file:
        yield from paragraphs(file)


def paragraphs(file: io.TextIOBase) -> Iterator[str]:
    r"""Paragraphs, parted by blank lines, on one line each; long ones in pieces, so that memory is that of a piece.

    >>> list(paragraphs(io.StringIO("One,\ntwo.\n\n\nThree.")))
    ['One, two.', 'Three.']
    """
    held = ""
    while line := file.readline(LONGEST):
        held += line
        if line.isspace() or len(held) >= LONGEST:
            if paragraph := " ".join(held.split()):
                yield paragraph
            held = ""
    if paragraph := " ".join(held.split()):
        yield paragraph


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
    """Row of the triplet that comes at ``number``: every round goes through all rows, in an order of its own.

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
    """Byte offsets of the lines that are not blank and not unwanted; the first that is no triplet is an error."""
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
    """As ``research.training.own_texts.open_text`` decodes."""
    return line.decode("utf-8-sig", "replace")
