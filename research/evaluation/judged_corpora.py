"""The corpora of the judged set: samples of calls, contracts and tickets, made from data sets that stay outside.

A sample is the documents of the smallest crc32 of their ids, so it depends on nothing but the ids.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Final

from models.types import Document, Part
from research.benchmarks.multidogo import read_turns
from research.evaluation.converters import cuad
from research.evaluation.intents import TURNS
from research.training.restorable_data import SOURCES

# Ids of MultiDoGO's conversations; two rows of its files are broken and have others.
_ID_LENGTH: Final = 36
# Hybrid's constants were chosen on the first contracts of CUAD, by name.
CHOSE: Final = 40
_LONGEST: Final = 40_000
_LONGEST_TICKET: Final = 3_000
# Blocks of code, comments and pictures of an issue.
_NO_PROSE: Final = re.compile(r"```.*?(?:```|$)|<!--.*?-->|<img[^>]*>|!\[[^\]]*\]\([^)]*\)", re.DOTALL)


def sampled(documents: Iterable[Document], count: int, skip: int = 0) -> list[Document]:
    """The documents of the smallest crc32 of their ids, but the first ``skip``, in the order of their ids.

    >>> [document.id for document in sampled((Document(id, ()) for id in "abcd"), 2)]
    ['b', 'c']
    """
    drawn = sorted(documents, key=lambda document: zlib.crc32(document.id.encode()))[skip : skip + count]
    return sorted(drawn, key=lambda document: document.id)


def calls(data: Path, draw: int = 0) -> list[Document]:
    """400 conversations, a part for each turn: 200 of MultiDoGO's test split, which has the customers' side alone, 100
    of the development part of SGD, and 100 of MultiWOZ. Further draws have those that follow."""
    return [
        *sampled(chats(data, "test"), 200, 200 * draw),
        *(doc for source in ("sgd", "multiwoz") for doc in sampled(dialogues(data, source), 100, 100 * draw)),
    ]


def contracts(data: Path) -> list[Document]:
    """40 contracts of CUAD of at most 40,000 characters, a part for each line; none of those that chose constants of
    mode hybrid."""
    documents = (contract.document for contract in cuad.contracts(data / "cuad")[CHOSE:])
    return sampled((document for document in documents if len(document.text) <= _LONGEST), 40)


def tickets(data: Path) -> list[Document]:
    """400 issues of the test part of NLBSE'24, title and description, without code, comments and pictures."""
    csv.field_size_limit(10**7)
    with gzip.open(data / "nlbse24-issues/issues_test.csv.gz", "rt", encoding="utf-8", errors="replace") as file:
        issues = (
            (str(number), row["repo"], row["title"], _NO_PROSE.sub(" ", row["body"] or "")[:_LONGEST_TICKET].strip())
            for number, row in enumerate(csv.DictReader(file))
        )
        documents = (
            Document(f"issue-{number}", tuple(Part(text) for text in (title, body) if text), {"repository": repository})
            for number, repository, title, body in issues
        )
        return sampled(documents, 400)


CORPORA: Final[Mapping[str, Callable[[Path], list[Document]]]] = MappingProxyType(
    {
        "calls": calls,
        "contracts": contracts,
        "tickets": tickets,
        "other_calls": partial(calls, draw=1),
        "third_calls": partial(calls, draw=2),
        "fourth_calls": partial(calls, draw=3),
    }
)


def chats(data: Path, split: str) -> Iterable[Document]:
    """The customers' sides of a split of MultiDoGO, a part for each turn."""
    turns = [turn for turn in read_turns(data / TURNS) if turn.split == split]
    for id, of_id in groupby(turns, key=lambda turn: turn.id.rpartition("/")[0]):
        if len(id.rpartition("/")[2]) == _ID_LENGTH:
            yield Document(f"multidogo/{id}", tuple(Part(turn.text) for turn in of_id))


def dialogues(data: Path, source: str) -> Iterable[Document]:
    """The conversations of a source of the restorer, a part for each turn."""
    for id, turns in groupby(SOURCES[source](data), key=itemgetter(0)):
        yield Document(id, tuple(Part(text) for _, text in turns if text.strip()))
