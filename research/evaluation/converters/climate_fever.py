"""CLIMATE-FEVER: claims about the climate, each with five sentences of Wikipedia that people judged.

A document is an article, and a part is one of its sentences that stand beside any claim: the set has no more of an
article. Gold are the sentences that support the claim. Those that refute it, or that say too little, are searched too,
and sentences beside other claims were not judged for this one, so that what is found may be right and still not count.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from models.types import Document, Part
from research.evaluation.converters.conversion import Conversion
from research.evaluation.converters.files import read_text
from research.evaluation.corpus import DocumentSpan, part_spans
from research.evaluation.queries import Query

FILE = "climate-fever.jsonl"
SUPPORTS = "SUPPORTS"


def read(folder: Path, task: str) -> Conversion:
    """All claims of the published file that a sentence supports."""
    return convert(json.loads(line) for line in read_text(folder, FILE).split("\n") if line)


def convert(claims: Iterable[Mapping[str, Any]]) -> Conversion:
    """A document for every article, and a query for every claim with a supporting sentence."""
    claims = list(claims)
    evidence = [each for claim in claims for each in claim["evidences"]]
    sentences: dict[str, dict[str, None]] = {}
    for each in evidence:
        sentences.setdefault(each["article"], {})[each["evidence"]] = None
    documents = [Document(article, tuple(map(Part, texts))) for article, texts in sentences.items()]
    places = {
        (document.id, part.text): DocumentSpan(document.id, span)
        for document in documents
        for part, span in zip(document.parts, part_spans(document), strict=True)
    }
    queries = [
        Query(claim["claim_id"], claim["claim"], tuple(dict.fromkeys(gold)))
        for claim in claims
        if (gold := [places[each["article"], each["evidence"]] for each in _supporting(claim)])
    ]
    return Conversion(tuple(documents), tuple(queries))


def _supporting(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in claim["evidences"] if each["evidence_label"] == SUPPORTS]
