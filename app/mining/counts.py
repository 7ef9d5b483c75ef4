"""The hits of a phrase, counted by the values of metadata."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from app.answers import described
from app.search.answers import Hit
from indexer.filters.expression import Field
from models.types import JsonValue


@dataclass(frozen=True, slots=True)
class Count:
    """The hits of a phrase whose metadata has a value; those of a list count for each of its elements."""

    phrase: str
    key: Annotated[str | None, described("Null: of all hits of the phrase.")]
    value: Annotated[str | None, described("A string as it is, any other value as JSON; null where the key is absent.")]
    hits: int
    documents: int
    complete: Annotated[bool, described("False: the phrase has more hits than `limit`, which are not counted.")]


class PhraseCounts:
    """Counts the hits of one phrase, one after the other.

    >>> counts = PhraseCounts("cancel", {"team": Field("document", ("team",))})
    >>> for team in ("A", ["A", "B"]):
    ...     counts.add(Hit("d", 0, 6, "cancel", 0.9, 0.9, "best_span", 1, {"team": team}))
    >>> [(count.key, count.value, count.hits, count.documents) for count in counts.rows(complete=True)]
    [(None, None, 2, 1), ('team', 'A', 2, 1), ('team', 'B', 1, 1)]
    """

    def __init__(self, phrase: str, fields: Mapping[str, Field]) -> None:
        self._phrase, self._keys, self._fields = phrase, list(fields), list(fields.values())
        self._hits: defaultdict[tuple[int, str | None], int] = defaultdict(int)
        self._documents: defaultdict[tuple[int, str | None], set[str]] = defaultdict(set)

    def add(self, hit: Hit) -> None:
        """Count a hit."""
        self._add((-1, None), hit)
        for number, field in enumerate(self._fields):
            for value in _values(hit, field):
                self._add((number, value), hit)

    def rows(self, *, complete: bool) -> Iterator[Count]:
        """The count of all, and those by every key in the order of the values; absent ones last."""
        total = (-1, None)
        for at in sorted({total, *self._hits}, key=lambda at: (at[0], at[1] is None, at[1] or "")):
            key = None if at == total else self._keys[at[0]]
            yield Count(self._phrase, key, at[1], self._hits[at], len(self._documents[at]), complete)

    def _add(self, at: tuple[int, str | None], hit: Hit) -> None:
        self._hits[at] += 1
        self._documents[at].add(hit.document_id)


def _values(hit: Hit, field: Field) -> set[str | None]:
    value = _at(hit, field)
    if isinstance(value, list):
        return {_spelt(each) for each in value}
    return {None if value is None else _spelt(value)}


def _at(hit: Hit, field: Field) -> JsonValue:
    """The value of a field; None where the path leads nowhere."""
    if field.level == "id":
        return hit.document_id
    value: JsonValue = dict((hit.part_metadata or {}) if field.level == "part" else hit.metadata)
    for key in field.path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _spelt(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
