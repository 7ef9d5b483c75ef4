"""Hits as one list: collapsed, limited by document, sorted and counted. A stage of the service for all modes.

It works on the rows of all hits above the threshold, which the scan returns best first. So collapsing keeps the best
hit of each group, and a document its best hits, in whatever order they are shown.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from app.requests import ARRANGED_WITHOUT_THRESHOLD, MAX_ARRANGED, SearchRequest
from app.search.aggregation.keys import CountedKey, Scalar, Sorting, counted_keys, field_of, sorting_of
from app.search.answers import Arranged, Bucket, KeyCounts, UsedThreshold
from app.search.literal import RankedRows
from app.search.mode import AnyMode
from app.search.threshold import no_number, reaching
from indexer.engine.query import Filter
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.filters.expression import Field
from indexer.reading.filter_fields import check_known
from indexer.reading.row_values import DocumentNumber, documents_of, texts_of, values_of
from indexer.segments.columns import canonical, value_key
from indexer.tuning import Tuning
from models.errors import InvalidInput
from models.text.words import words
from models.types import JsonValue

# What `collapse` calls the text of hits.
TEXT: Final = "text"
# The most frequent values of a key, and the latest of its periods, that are answered.
MAX_VALUES: Final = 100
MAX_PERIODS: Final = 1000


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A request's options for the list of its hits, parsed. ``collapse`` is a key; with ``by_text`` hits of one text.

    ``limit`` is the number of hits that are read, so that one more says whether there are more.
    """

    limit: int
    sort: Sorting | None = None
    collapse: Field | None = None
    by_text: bool = False
    per_document: int | None = None
    counts: tuple[CountedKey, ...] = ()


def aggregation_of(
    request: SearchRequest, mode: AnyMode, snapshot: Snapshot, used: UsedThreshold
) -> Aggregation | None:
    """The aggregation of a request; None if its hits are shown as they are found.

    Raises ``InvalidInput``, with the field, for what cannot be done with the hits of the mode or the collection.
    """
    if request.is_plain and not request.counts:
        return None
    by_text = request.collapse == TEXT
    collapse = None if by_text or request.collapse is None else field_of(request.collapse, "collapse")
    aggregation = Aggregation(
        ARRANGED_WITHOUT_THRESHOLD if used.value is None else MAX_ARRANGED,
        sorting_of(request.sort),
        collapse,
        by_text,
        request.per_document,
        counted_keys(request.counts),
    )
    _check_threshold(aggregation, mode, used)
    if by_text and not snapshot.stores_text:
        raise InvalidInput(
            "The collection stores no texts to collapse hits by.", hint="Collapse them by a key.", field="collapse"
        )
    check_keys(mode, snapshot, _keys(aggregation), request.filter)
    return aggregation


def _check_threshold(aggregation: Aggregation, mode: AnyMode, used: UsedThreshold) -> None:
    if used.value is not None or not (aggregation.sort or aggregation.counts):
        return
    if used.source == "auto":
        raise no_number(mode.name)
    option = "sort" if aggregation.sort else "counts"
    raise InvalidInput(
        f"Without a threshold everything is a hit: {option} needs one.",
        hint="Give threshold, or set one for the collection.",
        field=option,
    )


def _keys(aggregation: Aggregation) -> Iterator[tuple[str, Field]]:
    """The keys of a aggregation, each with its option."""
    yield from (("counts", each.field) for each in aggregation.counts)
    if aggregation.sort:
        yield "sort", aggregation.sort.field
    if aggregation.collapse:
        yield "collapse", aggregation.collapse


def check_keys(mode: AnyMode, snapshot: Snapshot, keys: Iterable[tuple[str, Field]], filter: Filter) -> None:
    """Raise ``InvalidInput`` for a key that the hits of the mode cannot have, or that no document in reach has.

    Each key comes with its option.
    """
    asked = list(keys)
    for option, field in asked:
        if mode.presented.unit == "document" and field.level == "part":
            raise InvalidInput(
                f"Mode {mode.name} finds documents, which have no metadata of parts.",
                hint="Name a key of documents.",
                field=option,
            )
    check_known(snapshot, asked, filter)


def aggregated(
    aggregation: Aggregation, snapshot: Snapshot, found: RankedRows, used: UsedThreshold, tuning: Tuning
) -> RankedRows:
    """The list that a aggregation makes of results.

    Raises ``InvalidInput`` if more hits are to be sorted or counted than are read.
    """
    complete = len(found) <= aggregation.limit
    if not complete and (aggregation.sort or aggregation.counts):
        raise InvalidInput(
            f"More than {aggregation.limit:,} hits reach the threshold; no more are sorted or counted.",
            hint="Choose a higher threshold, or a filter.",
            field="threshold",
        )
    rows = found.rows[: aggregation.limit]
    is_hit = reaching(np.array([row.cosine for row in rows], np.float64), used, tuning)
    hits = [rows[place] for place in np.flatnonzero(is_hit).tolist()]
    copies = _copies(aggregation, snapshot, hits)
    listed = hits if copies is None else list(copies)
    if aggregation.per_document is not None:
        listed = first_of_each(listed, documents_of(snapshot, listed), aggregation.per_document)
    if aggregation.sort is not None:
        listed = _sorted(listed, snapshot, aggregation.sort)
    counts = tuple(counted(each, snapshot, hits) for each in aggregation.counts) or None
    summary = Arranged(len(hits), len(listed), complete)
    return replace(found, rows=listed, copies=copies, arranged=summary, counts=counts)


def collapsed(rows: Sequence[SpanRow], keys: Sequence[Hashable | None]) -> dict[SpanRow, int]:
    """The first row of each key with the number of rows that have it; a row without a key stands for itself.

    >>> rows = [SpanRow("s", place, place + 1, 0.5) for place in range(4)]
    >>> [(row.start, copies) for row, copies in collapsed(rows, ["a", None, "a", None]).items()]
    [(0, 2), (1, 1), (3, 1)]
    """
    first: dict[Hashable, SpanRow] = {}
    for row, key in zip(rows, keys, strict=True):
        first.setdefault(row if key is None else (key,), row)
    counts = Counter(first[row if key is None else (key,)] for row, key in zip(rows, keys, strict=True))
    return {row: counts[row] for row in first.values()}


def first_of_each(rows: Sequence[SpanRow], groups: Sequence[Hashable], most: int) -> list[SpanRow]:
    """The rows, without those that come after ``most`` of the same group."""
    seen: Counter[Hashable] = Counter()
    kept = []
    for row, group in zip(rows, groups, strict=True):
        seen[group] += 1
        if seen[group] <= most:
            kept.append(row)
    return kept


def _copies(aggregation: Aggregation, snapshot: Snapshot, hits: Sequence[SpanRow]) -> dict[SpanRow, int] | None:
    if aggregation.by_text:
        texts, form = texts_of(snapshot, hits), snapshot.recipe.text
        folded = {text: words(text, form) or text for text in dict.fromkeys(texts)}
        return collapsed(hits, [folded[text] for text in texts])
    if aggregation.collapse is not None:
        return collapsed(hits, values_of(snapshot, hits, aggregation.collapse, _group_of))
    return None


def _group_of(value: JsonValue) -> str | None:
    """A spelling that equal values have in common; None for null."""
    if value is None:
        return None
    return canonical(value) if isinstance(value, list | dict) else value_key(value)


def _sorted(rows: Sequence[SpanRow], snapshot: Snapshot, sorting: Sorting) -> list[SpanRow]:
    """The rows by their keys; those without one last, and equal ones as they were."""
    keyed = list(zip(values_of(snapshot, rows, sorting.field, sorting.key_of), rows, strict=True))
    with_key = [(key, row) for key, row in keyed if key is not None]
    with_key.sort(key=lambda pair: pair[0], reverse=sorting.descending)
    return [row for _, row in with_key] + [row for key, row in keyed if key is None]


def counted(key: CountedKey, snapshot: Snapshot, hits: Sequence[SpanRow]) -> KeyCounts:
    """The numbers of hits, and of the documents that hold them, in every bucket of a key.

    A hit with a list counts once for each of its elements' buckets. Values come by falling numbers, periods in their
    order without those that have no hit, and ranges in their order with all.
    """
    spans: Counter[str] = Counter()
    documents: defaultdict[str, set[DocumentNumber]] = defaultdict(set)
    values: dict[str, Scalar] = {}
    without = 0
    buckets = values_of(snapshot, hits, key.field, key.buckets_of)
    for named, document in zip(buckets, documents_of(snapshot, hits), strict=True):
        without += not named
        values |= named
        for name in named:
            spans[name] += 1
            documents[name].add(document)
    found = {name: Bucket(spans[name], len(documents[name]), values[name]) for name in spans}
    return KeyCounts(key.name, _shown(key, found), len(found), without)


def _shown(key: CountedKey, found: dict[str, Bucket]) -> tuple[Bucket, ...]:
    if key.borders:
        numbers = {bucket.value: bucket for bucket in found.values()}
        edges = enumerate(pairwise([None, *key.borders, None]))
        return tuple(
            replace(numbers.get(number, Bucket(0, 0)), value=None, at_least=at_least, below=below)
            for number, (at_least, below) in edges
        )
    if key.period is not None:
        return tuple(found[name] for name in sorted(found)[-MAX_PERIODS:])
    first = sorted(found.items(), key=lambda item: (-item[1].hits, item[0]))[:MAX_VALUES]
    return tuple(bucket for _, bucket in first)
