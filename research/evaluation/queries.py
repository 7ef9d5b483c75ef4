"""Queries with gold spans, as files keep them: one JSON object a line.

``{"id": "7", "text": "cancel my plan", "gold": [{"document_id": "a", "start": 0, "end": 9}], "within": "a"}``

Offsets are code points of the document's text. ``within`` is optional: a document's id, or a list of them, where the
query is to be searched and nowhere else.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

from indexer.errors import SourceUnreadable
from models.errors import InvalidInput
from models.types import CharSpan
from research.evaluation.corpus import Corpus, DocumentSpan


@dataclass(frozen=True, slots=True)
class Query:
    """A text to search for, the spans that should be found, and the documents to search; all by default."""

    id: str
    text: str
    gold: tuple[DocumentSpan, ...]
    within: tuple[str, ...] = ()


def read_queries(path: Path, corpus: Corpus) -> list[Query]:
    """The queries of a file. Raises ``InvalidInput`` for one that could not be counted, ``SourceUnreadable`` for none.

    Every query needs gold, every gold span a unit, and every document that is named must be in the corpus.
    """
    try:
        with path.open(encoding="utf-8") as file:
            lines = [(number, line) for number, line in enumerate(file, 1) if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadable(f"{path} cannot be read: {error}", hint="Check --queries.", field="queries") from error
    if not lines:
        raise SourceUnreadable(f"{path} holds no queries.", hint="Give one JSON object a line.", field="queries")
    return [_checked(line, f"{path.name}:{number}", corpus) for number, line in lines]


def _checked(line: str, where: str, corpus: Corpus) -> Query:
    try:
        query = query_from_json(json.loads(line))
        _check(query, corpus)
    except (KeyError, TypeError, ValueError) as error:
        hint = 'A query is {"id", "text", "gold": [{"document_id", "start", "end"}], "within"} on one line.'
        raise InvalidInput(f"{where}: not a query ({error!r}).", hint=hint, field="queries") from error
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}", hint="Is this the data it was made for?", field="queries") from error
    return query


def _check(query: Query, corpus: Corpus) -> None:
    unknown = {gold.document_id for gold in query.gold} | set(query.within)
    unknown -= corpus.documents.keys()
    if unknown:
        raise InvalidInput(f"The data holds no document {min(unknown)!r}.")
    if not query.gold:
        raise InvalidInput("A query needs a gold span.")
    for gold in query.gold:
        text = corpus.documents[gold.document_id].text
        if not (0 <= gold.span.start < gold.span.end <= len(text) and len(corpus.units(gold))):
            raise InvalidInput(f"{gold.span.start} to {gold.span.end} is no span of {gold.document_id!r}.")


def query_from_json(value: object) -> Query:
    """A query from its JSON object; ``KeyError`` or ``TypeError`` where it is none.

    >>> query_from_json({"id": 7, "text": "red", "gold": [{"document_id": "a", "start": 0, "end": 3}], "within": "a"})
    Query(id='7', text='red', gold=(DocumentSpan(document_id='a', span=CharSpan(start=0, end=3)),), within=('a',))
    """
    if not isinstance(value, dict) or not isinstance(value["text"], str):
        raise TypeError("a query is an object with a text")
    within = value.get("within") or ()
    return Query(
        id=str(value["id"]),
        text=value["text"],
        gold=gold_from_json(value["gold"]),
        within=(within,) if isinstance(within, str) else tuple(dict.fromkeys(within)),
    )


def gold_from_json(values: Iterable[Mapping[str, Any]]) -> tuple[DocumentSpan, ...]:
    """Gold spans from their JSON objects; what else these hold is passed over."""
    return tuple(
        DocumentSpan(gold["document_id"], CharSpan(index(gold["start"]), index(gold["end"]))) for gold in values
    )


def query_as_json(query: Query) -> dict[str, Any]:
    """The JSON object of a query; ``query_from_json`` reads it."""
    gold = [{"document_id": gold.document_id, "start": gold.span.start, "end": gold.span.end} for gold in query.gold]
    within = {"within": list(query.within)} if query.within else {}
    return {"id": query.id, "text": query.text, "gold": gold, **within}
