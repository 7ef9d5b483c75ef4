"""Phrase-in-Context: the phrase retrieval examples of its website, ``PR_website_examples*.jsonl``.

A query is a phrase, its gold another phrase of the same meaning in one text, and only that text is searched. There are
a few dozen of these: enough to see that all is in order, too few for a figure.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from models.types import CharSpan, Document, Part
from research.evaluation.converters.conversion import Conversion
from research.evaluation.converters.files import missing
from research.evaluation.corpus import DocumentSpan
from research.evaluation.queries import Query


def read(folder: Path, task: str) -> Conversion:
    """The examples of a folder; there is one task."""
    paths = sorted(folder.glob("PR_website_examples*.jsonl"))
    if not paths:
        raise missing(folder, "PR_website_examples*.jsonl")
    return convert(json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines())


def convert(examples: Iterable[Mapping[str, Any]]) -> Conversion:
    """A document and a query for every example.

    >>> convert([{"document": "It is a binding deal.", "query": "contract", "answer": "binding deal", "start": 8}])
    ... # doctest: +ELLIPSIS
    Conversion(documents=(Document(id='1', ...
    """
    documents, queries = [], []
    for number, example in enumerate(examples, 1):
        id, start = str(number), example["start"]
        gold = DocumentSpan(id, CharSpan(start, start + len(example["answer"])))
        documents.append(Document(id, (Part(example["document"]),)))
        queries.append(Query(id, example["query"], (gold,), within=(id,)))
    return Conversion(tuple(documents), tuple(queries))
