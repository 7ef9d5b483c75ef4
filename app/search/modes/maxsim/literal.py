"""The literal floor of mode maxsim: documents that hold the query's own words in their order rank first.

They score ``EXACT`` and all others less, as occurrences do in the modes whose hits are spans.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from indexer.engine.base import ScoredSpan
from indexer.engine.query import Filter, Selection
from indexer.engine.selection import choose
from indexer.engine.snapshot import Snapshot
from indexer.nuggets.places import DocumentPlace
from indexer.nuggets.representation import stored_nuggets
from indexer.nuggets.scan import ScoredDocument
from indexer.words.literal import BELOW, EXACT, Terms, literal_spans

_ALL = 2**62


def documents_with_floor(
    snapshot: Snapshot, terms: Terms, documents: Sequence[ScoredDocument], selection: Selection
) -> list[ScoredDocument]:
    """The documents with an occurrence of the query's words by their ids, then the others of ``documents``.

    ``documents`` are the best ``selection.top_k`` by MaxSim, so these lists together hold the best ``top_k``.
    """
    literal = _documents_with(snapshot, terms, selection)
    others = (replace(each, cosine=min(each.cosine, BELOW)) for each in documents if each.document_id not in literal)
    return [*literal.values(), *others][: selection.top_k]


def count_with_floor(
    snapshot: Snapshot, terms: Terms, documents: Sequence[ScoredDocument], filter: Filter
) -> list[ScoredDocument]:
    """All documents, scored as :func:`documents_with_floor` scores them."""
    return documents_with_floor(snapshot, terms, documents, Selection(_ALL, None, "document", filter))


def holds(text: Terms, terms: Terms) -> bool:
    """True if a text's words hold those of a query, in their order and without gaps.

    >>> holds(("cancel", "my", "plan"), ("my", "plan")), holds(("my", "old", "plan"), ("my", "plan")), holds((), ())
    (True, False, False)
    """
    size = len(terms)
    return bool(terms) and any(text[start : start + size] == terms for start in range(len(text) - size + 1))


def _documents_with(snapshot: Snapshot, terms: Terms, selection: Selection) -> dict[str, ScoredDocument]:
    first = choose([literal_spans(view, terms, selection) for view in snapshot.views], selection)
    return {span.document_id: _scored(span) for span in first}


def _scored(span: ScoredSpan) -> ScoredDocument:
    segment = span.place.segment
    document = int(segment.part_document[segment.part_of(span.place.segment_units.start)])
    first, last = stored_nuggets(segment).document_bounds(segment.document_units)[document : document + 2].tolist()
    return ScoredDocument(span.document_id, EXACT, DocumentPlace(segment, document, np.arange(first, last)))
