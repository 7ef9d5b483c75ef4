"""Labelled hits of real searches: a list for every phrase, with right and wrong ones.

``research/data/hits`` has a file for every corpus, a phrase a line: ``{"phrase", "hits"}``. A hit has ``document_id``,
``start`` and ``end`` (of its sentence, in code points), ``mark`` (what the search found in it, or null), ``similarity``
(raw), ``label`` and, where it differs, ``differs``. No text of a corpus is in these files: it is read from the data
sets, which stay outside.
"""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from models.types import CharSpan, Document, Part
from models.verifier.types import Pair, Verdict
from research.evaluation.contrast import Half
from research.evaluation.converters import cuad
from research.evaluation.judged_corpora import CHOSE, chats, dialogues, sampled
from research.training.changed_sources import enwiki, policies, tickets
from research.training.verifier_data import Example

FOLDER: Final = Path(__file__).parents[1] / "data" / "hits"
Label = Literal["match", "partly", "differs", "unrelated"]
# The probability of a match for what is said nearly, or in part.
_PARTLY: Final = 0.4
_CODE: Final = re.compile(r"```.*?```", re.DOTALL)
_LONGEST: Final = 90_000
_PARAGRAPHS: Final = 40


def _chats(data: Path) -> list[Document]:
    return sampled(chats(data, "train"), 700)


def _dialogues(data: Path) -> list[Document]:
    """Those that follow all draws of the judged sets' calls."""
    return [doc for source in ("sgd", "multiwoz") for doc in sampled(dialogues(data, source), 350, 400)]


def _contracts(data: Path) -> list[Document]:
    """Those that chose hybrid's constants, and so are no test of anything."""
    documents = (contract.document for contract in cuad.contracts(data / "cuad")[:CHOSE])
    return [document for document in documents if len(document.text) <= _LONGEST]


def _policies(data: Path) -> list[Document]:
    lines = [line.strip() for line in policies(data) if len(line.split()) > 5]
    starts = range(0, len(lines), _PARAGRAPHS)
    return [Document(f"p{at}", tuple(map(Part, lines[at : at + _PARAGRAPHS]))) for at in starts]


def _issues(data: Path) -> list[Document]:
    csv.field_size_limit(10**7)
    with gzip.open(data / "nlbse24-issues/issues_train.csv.gz", "rt", encoding="utf-8", errors="replace") as file:
        issues = [f"{row['title']}\n{_CODE.sub('', row['body'] or '')[:1500]}" for row in csv.DictReader(file)]
    return _documents("t", chain(_shuffled(tickets(data), (5, 120), seed=6), issues))


def _encyclopaedia(data: Path) -> list[Document]:
    return _documents("w", _shuffled(enwiki(data), (8, 200), seed=7))


# What the files are hits of.
CORPORA: Final[Mapping[str, Callable[[Path], list[Document]]]] = MappingProxyType(
    {
        "chats": _chats,
        "dialogues": _dialogues,
        "contracts": _contracts,
        "policies": _policies,
        "issues": _issues,
        "encyclopaedia": _encyclopaedia,
    }
)


def is_held_out(phrase: str) -> bool:
    """True for the eighth of the phrases, by crc32, that no weights learn from.

    >>> [phrase for phrase in ("the train is late", "we need three rooms") if is_held_out(phrase)]
    []
    """
    return zlib.crc32(phrase.encode()) % 8 == 0


def half_of_held_out(phrase: str) -> Half:
    """The half of the phrases that are held out to which one belongs: one may choose, the other is reported.

    >>> half_of_held_out("no one")
    'reported'
    """
    return "reported" if zlib.crc32(phrase.encode()) // 8 % 2 else "chooses"


def read_labelled(data: Path, folder: Path = FOLDER, held_out: bool = False) -> list[list[Example]]:
    """The labelled hits of every phrase that may train, or that is held out, with texts from the sets in ``data``."""
    lists = []
    for name, documents in CORPORA.items():
        path = folder / f"{name}.ndjson"
        if path.is_file():
            texts = {document.id: document.text for document in documents(data)}
            rows = map(json.loads, path.read_text("utf-8").splitlines())
            chosen = (row for row in rows if is_held_out(row["phrase"]) == held_out)
            lists += [[_example(row["phrase"], hit, texts) for hit in row["hits"]] for row in chosen]
    return lists


def _example(phrase: str, hit: Mapping[str, Any], texts: Mapping[str, str]) -> Example:
    start, label = hit["start"], cast("Label", hit["label"])
    mark = hit["mark"] and CharSpan(hit["mark"][0] - start, hit["mark"][1] - start)
    pair = Pair(phrase, texts[hit["document_id"]][start : hit["end"]], mark, hit["similarity"])
    if label == "partly":
        return Example(pair, _PARTLY)
    verdict: Verdict = label
    return Example(pair, float(verdict == "match"), verdict, hit.get("differs"))


def _shuffled(texts: Iterable[str], length: tuple[int, int], seed: int) -> Iterator[str]:
    """5,000 different texts of so many words, at random."""
    least, most = length
    kept = list(dict.fromkeys(text.strip() for text in texts if least <= len(text.split()) <= most))
    Random(seed).shuffle(kept)  # noqa: S311  sampling, not secrets
    yield from kept[:5_000]


def _documents(prefix: str, texts: Iterable[str]) -> list[Document]:
    return [Document(f"{prefix}{number}", (Part(text),)) for number, text in enumerate(texts)]
