"""The hits of a phrase, counted by the values of metadata."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from app.answers import described
from app.search.types import Hit
from models.types import JsonValue

_PART: Final = "part."


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

    >>> counts = PhraseCounts("cancel", ["team"])
    >>> for team in ("A", ["A", "B"]):
    ...     counts.add(Hit("d", 0, 6, "cancel", 0.9, 0.9, "best_span", 1, {"team": team}))
    >>> [(count.key, count.value, count.hits, count.documents) for count in counts.rows(complete=True)]
    [(None, None, 2, 1), ('team', 'A', 2, 1), ('team', 'B', 1, 1)]
    """

    def __init__(self, phrase: str, keys: Sequence[str]) -> None:
        self._phrase, self._keys = phrase, keys
        self._hits: defaultdict[tuple[int, str | None], int] = defaultdict(int)
        self._documents: defaultdict[tuple[int, str | None], set[str]] = defaultdict(set)

    def add(self, hit: Hit) -> None:
        """Count a hit."""
        self._add((-1, None), hit)
        for number, key in enumerate(self._keys):
            for value in _values(hit, key):
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


def _values(hit: Hit, key: str) -> set[str | None]:
    metadata, path = (hit.part_metadata or {}, key[len(_PART) :]) if key.startswith(_PART) else (hit.metadata, key)
    value = _at(metadata, path)
    if isinstance(value, list):
        return {_spelt(each) for each in value}
    return {None if value is None else _spelt(value)}


def _at(metadata: Mapping[str, Any], path: str) -> JsonValue:
    """The value of a key, or of a path through nested objects."""
    if path in metadata:
        return metadata[path]
    key, _, rest = path.partition(".")
    inner = metadata.get(key)
    return _at(inner, rest) if rest and isinstance(inner, Mapping) else None


def _spelt(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
