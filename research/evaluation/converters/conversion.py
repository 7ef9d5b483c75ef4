"""Result of a data set's conversion: documents as ``spanseek index`` reads them, and queries with gold spans."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.types import Document
from research.evaluation.queries import Query, query_as_json

DOCUMENTS = "documents.ndjson"
QUERIES = "queries.ndjson"


@dataclass(frozen=True, slots=True)
class Conversion:
    """Documents, queries, and how many gold texts were left out because they do not stand in their documents."""

    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    not_found: int = 0

    def limited(self, most: int | None, skipped: int = 0) -> "Conversion":
        """So many documents after the first ones, by default all, with the queries that still have gold."""
        documents = self.documents[skipped:][:most]
        ids = {document.id for document in documents}
        queries = (
            replace(query, gold=tuple(gold for gold in query.gold if gold.document_id in ids))
            for query in self.queries
            if ids.issuperset(query.within)
        )
        return replace(self, documents=documents, queries=tuple(query for query in queries if query.gold))

    def write(self, folder: Path) -> None:
        """Write ``documents.ndjson`` and ``queries.ndjson`` into a folder, which is made if need be."""
        folder.mkdir(parents=True, exist_ok=True)
        write_documents(folder / DOCUMENTS, self.documents)
        _write_lines(folder / QUERIES, map(query_as_json, self.queries))


def write_documents(path: Path, documents: Iterable[Document]) -> None:
    """Write documents, one a line, as ``spanseek index`` reads them."""
    _write_lines(path, map(_document_as_json, documents))


def _document_as_json(document: Document) -> dict[str, Any]:
    parts = [{"text": part.text} for part in document.parts]
    return {"id": document.id, "parts": parts, "metadata": dict(document.metadata)}


def _write_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
