"""Counts of hits by metadata: values, ranges of numbers, and periods of time."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from app.search.answers import Bucket, KeyCounts
from app.search.keys import CountedKey, Scalar
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.reading.row_values import DocumentNumber, documents_of, values_of

# The most frequent values of a key, and the latest of its periods, that are answered.
MAX_VALUES: Final = 100
MAX_PERIODS: Final = 1000


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
