"""The events of the documents that a key with a filter may know of."""

from collections.abc import Sequence

from indexer.catalog.collections import Catalog
from indexer.catalog.matches import read_events
from indexer.engine.filter_masks import documents_holding
from indexer.engine.located import find_documents
from indexer.engine.query import Filter
from indexer.engine.snapshot import Snapshot
from indexer.filters.expression import asks_ids_alone
from indexer.phrases import EventCursor, EventFilter, EventRead, MatchEvent

# Events that are read at once.
_BATCH = 1000


def events_in_reach(
    catalog: Catalog,
    snapshot: Snapshot,
    collection_id: str,
    after: EventCursor | None,
    limit: int,
    filter: EventFilter,
    reach: Filter,
) -> EventRead:
    """At most ``limit`` events after a cursor, as if no other documents had any.

    A filter that asks more than ids tells only of matches that stand: whose the others were is no longer known.
    """
    told: list[MatchEvent] = []
    while True:
        read = read_events(catalog, collection_id, after, _BATCH, filter)
        told += _told(snapshot, read.events, reach)
        after = read.cursor
        if len(told) > limit:
            return EventRead(tuple(told[:limit]), EventCursor(told[limit - 1].number, after.forgotten), more=True)
        if not read.more:
            return EventRead(tuple(told), after, more=False)


def _told(snapshot: Snapshot, events: Sequence[MatchEvent], reach: Filter) -> list[MatchEvent]:
    ids = [event.document_id for event in events]
    if reach.always is not None and asks_ids_alone(reach.always):
        passing = documents_holding(reach.always, ids, [{}] * len(ids)).tolist()
        return [event for event, passes in zip(events, passing, strict=True) if passes]
    there = find_documents(snapshot, ids, reach)
    return [event for event in events if event.text is not None and event.document_id in there]
