"""The selection of search results."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
from jaxtyping import Bool, Int

from indexer.filters.expression import Expression, comparisons
from indexer.filters.json_form import json_of
from models.text.borders import Boundary
from models.types import JsonValue

Grouping = Literal["span", "part", "document"]
# More results than any collection has.
EVERYTHING: Final = 2**62


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on the metadata of documents and of their parts, and an expression that must be true.

    ``always`` is an expression about documents that must be true in any case: the filter of an API key. A document for
    which it is false is treated as missing: no count and no error reveals it.
    """

    document: Mapping[str, JsonValue] = field(default_factory=dict)
    part: Mapping[str, JsonValue] = field(default_factory=dict)
    expression: Expression | None = None
    always: Expression | None = None

    def __bool__(self) -> bool:
        return self.asks or self.always is not None

    @property
    def asks(self) -> bool:
        """True if the request itself asks something."""
        return bool(self.document or self.part or self.expression)

    @property
    def reach(self) -> "Filter":
        """The filter of all requests of a caller: it passes the documents that the caller may know of."""
        return Filter(always=self.always)

    def within(self, always: Expression | None) -> "Filter":
        """The same filter with ``always``: the only place that joins the filters of a request and of a key."""
        return replace(self, always=always)

    @property
    def asks_parts(self) -> bool:
        """True if some parts of a document may pass and others fail."""
        if self.part or self.expression is None:
            return bool(self.part)
        return any(each.field.level == "part" for each in comparisons(self.expression))

    @property
    def key(self) -> str:
        """Hashable, and equal for equal filters. As in JSON, and unlike in Python, ``1`` is not ``true``.

        >>> Filter({"week": 1}).key == Filter({"week": True}).key
        False
        """
        trees = [None if each is None else json_of(each) for each in (self.expression, self.always)]
        return json.dumps([dict(self.document), dict(self.part), *trees], sort_keys=True)


@dataclass(frozen=True, slots=True)
class SpanLengths:
    """A range of lengths in units, both ends included; None is no limit."""

    shortest: int | None = None
    longest: int | None = None

    def contain(self, lengths: Int[np.ndarray, " spans"]) -> Bool[np.ndarray, " spans"]:
        """A mask of the lengths in the range.

        >>> SpanLengths(2, 3).contain(np.array([1, 2, 3, 4])).tolist()
        [False, True, True, False]
        """
        shortest = 0 if self.shortest is None else self.shortest
        longest = np.inf if self.longest is None else self.longest
        return (lengths >= shortest) & (lengths <= longest)


@dataclass(frozen=True, slots=True)
class Selection:
    """At most ``top_k`` spans, none with a cosine under ``floor``, from documents and parts that pass ``filter``.

    Spans of one part never overlap; ``group_by`` keeps only the best span of every part or document. Scans ignore
    ``lengths`` and ``boundary``, which restrict the spans further: modes apply them (``app.search.modes.best_span``).
    """

    top_k: int = 10
    floor: float | None = None
    group_by: Grouping = "span"
    filter: Filter = field(default_factory=Filter)
    lengths: SpanLengths | None = None
    boundary: Boundary | None = None

    @property
    def key(self) -> Hashable:
        """Hashable, and equal for equal selections."""
        return self.top_k, self.floor, self.group_by, self.filter.key, self.lengths, self.boundary
