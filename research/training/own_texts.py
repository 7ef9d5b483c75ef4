"""What a user brings: texts to draw from, and pairs of texts with a grade."""

import hashlib
import io
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from models.errors import InvalidInput
from models.sampling import sample
from models.types import JsonValue
from research.training.ndjson import WORD, Form, open_text, read_lines
from research.training.sources import GradedPair

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
    found = sample(paragraphs, most, random.Random(f"texts/{seed}"))  # noqa: S311  sampling, not secrets
    if not found:
        raise TEXTS.refused(str(path), "there are no texts in it")
    return found


def read_own_pairs(path: Path) -> list[GradedPair]:
    """All graded pairs of an NDJSON file."""
    return [GradedPair(line["query"], line["paraphrase"], float(line["score"])) for line in read_lines(path, PAIRS)]


def contents(paths: Mapping[str, Path | None]) -> dict[str, JsonValue]:
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
