"""Spans given by document and units, instead of found by a search: their exact cosines."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from indexer import kernels
from indexer.arrays import SpanTerms
from indexer.engine.located import Located
from models.types import QueryVectors, UnitSpan


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """Units of a document's segment, and which query they are compared with."""

    located: Located
    units: UnitSpan
    query: int


def named_cosines(
    spans: Sequence[NamedSpan], queries: QueryVectors, terms: SpanTerms | None = None
) -> Float[np.ndarray, " spans"]:
    """The exact score of every span with its unit-length query, equal to a search's to the last bit."""
    cosines = np.empty(len(spans), np.float64)
    by_view: defaultdict[int, list[int]] = defaultdict(list)
    for number, span in enumerate(spans):
        by_view[id(span.located.view)].append(number)
    for numbers in by_view.values():
        segment = spans[numbers[0]].located.view.segment
        rows = np.array([(spans[n].units.start, spans[n].units.end, spans[n].query) for n in numbers], np.int64)
        starts, ends, owners = (column.copy() for column in rows.T)
        cosines[numbers] = kernels.rescore(segment.arrays, starts, ends, queries, owners, terms)
    return cosines
