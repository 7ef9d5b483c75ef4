"""Matches of saved phrases: added and withdrawn in the transaction that changes the documents, and read as events.

Events of a collection are numbered from 1, under the collection's row lock, so that they are committed in the order of
their numbers.

Matches that were withdrawn long ago are deleted, and with them both their events. Readers that have read both events
miss nothing, and neither do readers that have read none. A reader between the two would never see the withdrawal: it
gets ``CursorExpired`` and reads again from the start.
"""

from collections import abc
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, null, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.leases import Lease, holding
from indexer.catalog.sql import holds_any, listed, listed_numbers
from indexer.catalog.tables import matches, phrase_sets
from indexer.errors import CursorExpired
from indexer.phrases import (
    ALL_EVENTS,
    EventCursor,
    EventFilter,
    EventKind,
    EventRead,
    Match,
    Matches,
    MatchEvent,
    Reason,
)
from models.fields import converted
from models.types import CharSpan

_Key = tuple[str, str, int, int]


class StalePhrases(Exception):
    """The phrases have changed since they were read: match again. Callers catch it."""


def add_matches(connection: Connection, collection_id: str, new: Matches, generation: int, now: datetime) -> None:
    """Store matches, within a transaction that holds the collection's lock.

    Raises ``StalePhrases`` if the phrases have another version by now.
    """
    if phrase_version(connection, collection_id) != new.version:
        raise StalePhrases
    if not new.matches:
        return
    first = _take_numbers(connection, collection_id, len(new.matches))
    rows = [_columns(match, number) for number, match in enumerate(new.matches, first)]
    shared = {
        "collection_id": collection_id,
        "calibration_id": new.calibration,
        "generation": generation,
        "found_at": now,
    }
    connection.execute(insert(matches), [row | shared for row in rows])


def withdraw_of_documents(
    connection: Connection, collection_id: str, ids: Iterable[str], reason: Reason, now: datetime
) -> None:
    """Withdraw all matches in these documents, within such a transaction."""
    _withdraw(connection, collection_id, matches.c.document_id.in_(listed(connection, ids)), reason, now)


def withdraw_of_phrases(
    connection: Connection, collection_id: str, names: Iterable[str], reason: Reason, now: datetime
) -> None:
    """Withdraw all matches of these phrases, within such a transaction."""
    _withdraw(connection, collection_id, matches.c.phrase.in_(listed(connection, names)), reason, now)


def forget_texts(connection: Connection, collection_id: str) -> None:
    """Empty the texts of all matches, within a transaction: the collection no longer stores texts."""
    connection.execute(update(matches).where(_stand(collection_id)).values(text=""))


def retag(connection: Connection, collection_id: str, phrase: str, tags: abc.Sequence[str]) -> None:
    """Give the standing matches of a phrase its new tags, within such a transaction; withdrawn ones keep theirs."""
    rows = _stand(collection_id) & (matches.c.phrase == phrase)
    connection.execute(update(matches).where(rows).values(tags=list(tags)))


def replace_matches(catalog: Catalog, lease: Lease, names: abc.Collection[str], present: Matches) -> tuple[int, int]:
    """Make ``present`` the matches of these phrases. Returns the numbers of added and of withdrawn matches.

    Matches that remain keep their score. Raises ``StalePhrases`` as :func:`add_matches` does.
    """
    with holding(catalog, lease) as (connection, generation):
        standing = _standing(connection, lease.collection_id, names)
        keys = set(map(_key, present.matches))
        new = tuple(match for match in present.matches if _key(match) not in standing)
        gone = [number for key, number in standing.items() if key not in keys]
        if gone:
            condition = matches.c.number.in_(listed_numbers(connection, gone))
            _withdraw(connection, lease.collection_id, condition, "rematched", catalog.clock())
        add_matches(connection, lease.collection_id, replace(present, matches=new), generation, catalog.clock())
    return len(new), len(gone)


def read_events(
    catalog: Catalog, collection_id: str, after: EventCursor | None, limit: int, filter: EventFilter = ALL_EVENTS
) -> EventRead:
    """At most ``limit`` events after a cursor (None: from the first), in order, of the matches that pass a filter.

    Raises ``CursorExpired`` if a withdrawal that the reader has not read may have been deleted.
    """
    with catalog.database.snapshot() as connection:
        last, forgotten = _counted(connection, collection_id)
        number = _number(after, forgotten)
        condition = matches.c.collection_id == collection_id
        if filter.phrases:
            condition &= matches.c.phrase.in_(listed(connection, filter.phrases))
        if filter.tags:
            condition &= holds_any(connection, matches.c.tags, filter.tags)
        rows = partial(_after, connection, condition, after=number, limit=limit + 1)
        matched = [_event(row, "matched") for row in rows(matches.c.number)]
        withdrawn = [_event(row, "withdrawn") for row in rows(matches.c.withdrawn)]
    events = sorted([*matched, *withdrawn], key=lambda event: event.number)
    page, more = tuple(events[:limit]), len(events) > limit
    # On the last page the cursor moves past the events of other phrases, too.
    return EventRead(page, EventCursor(page[-1].number if more else max(number, last), forgotten), more)


def find_match(catalog: Catalog, collection_id: str, number: int) -> MatchEvent | None:
    """The event that added a match that stands; None of a withdrawn or unknown one."""
    with catalog.database.read() as connection:
        row = connection.execute(select(matches).where(_stand(collection_id), matches.c.number == number)).first()
    return None if row is None else _event(row, "matched")


def last_events(catalog: Catalog, collection_ids: Iterable[str]) -> dict[str, int]:
    """The number of the last event of each of these collections that ever had a phrase."""
    with catalog.database.read() as connection:
        chosen = phrase_sets.c.collection_id.in_(listed(connection, collection_ids))
        rows = connection.execute(select(phrase_sets.c.collection_id, phrase_sets.c.events).where(chosen))
        return {row.collection_id: row.events for row in rows}


def forget_withdrawn(connection: Connection, collection_id: str, until: datetime) -> None:
    """Delete the matches that were withdrawn by this time, within a transaction that holds the collection's lock."""
    withdrawn = (matches.c.collection_id == collection_id) & matches.c.withdrawn.is_not(None)
    # The oldest one decides whether there are any: one look-up in the index.
    oldest = select(matches.c.withdrawn_at).where(withdrawn).order_by(matches.c.withdrawn).limit(1)
    first = connection.execute(oldest).scalar()
    if first is None or first > until:
        return
    last = select(func.max(matches.c.withdrawn)).where(withdrawn, matches.c.withdrawn_at <= until)
    forgotten = connection.execute(last).scalar_one()
    connection.execute(delete(matches).where(withdrawn, matches.c.withdrawn <= forgotten))
    row = phrase_sets.c.collection_id == collection_id
    connection.execute(update(phrase_sets).where(row).values(forgotten=forgotten))


def phrase_version(connection: Connection, collection_id: str) -> int:
    """The number of changes of the collection's phrases; 0 if it never had any."""
    version = connection.scalar(select(phrase_sets.c.version).where(phrase_sets.c.collection_id == collection_id))
    return 0 if version is None else int(version)


def _stand(collection_id: str) -> ColumnElement[bool]:
    """True of the collection's matches that are not withdrawn."""
    return (matches.c.collection_id == collection_id) & matches.c.withdrawn.is_(None)


def _withdraw(
    connection: Connection, collection_id: str, condition: ColumnElement[bool], reason: Reason, now: datetime
) -> None:
    standing = _stand(collection_id) & condition
    count = connection.scalar(select(func.count()).select_from(matches).where(standing)) or 0
    if not count:
        return
    first = _take_numbers(connection, collection_id, count)
    row_number = func.row_number().over(order_by=matches.c.number)
    numbered = select(matches.c.number, (row_number + (first - 1)).label("event")).where(standing).subquery()
    connection.execute(
        update(matches)
        .where(matches.c.collection_id == collection_id, matches.c.number == numbered.c.number)
        .values(withdrawn=numbered.c.event, withdrawn_at=now, reason=reason, text=null())
    )


def _counted(connection: Connection, collection_id: str) -> tuple[int, int]:
    """The numbers of the last event and of the last withdrawal whose match is deleted."""
    columns = select(phrase_sets.c.events, phrase_sets.c.forgotten)
    row = connection.execute(columns.where(phrase_sets.c.collection_id == collection_id)).first()
    return (0, 0) if row is None else (row.events, row.forgotten)


def _number(after: EventCursor | None, forgotten: int) -> int:
    """The number of the last event that was read. Raises ``CursorExpired``."""
    if after is None:
        return 0
    if after.number < forgotten and after.forgotten != forgotten:
        raise CursorExpired(
            "The cursor is too old: withdrawals after it have been deleted.",
            hint="Discard all matches and read again without a cursor, which returns the present ones.",
            field="cursor",
        )
    return after.number


def _after(
    connection: Connection, condition: ColumnElement[bool], number: ColumnElement[int], after: int, limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    return connection.execute(select(matches).where(condition, number > after).order_by(number).limit(limit)).all()


def _take_numbers(connection: Connection, collection_id: str, count: int) -> int:
    """Reserve numbers for events; returns the first."""
    row = phrase_sets.c.collection_id == collection_id
    connection.execute(update(phrase_sets).where(row).values(events=phrase_sets.c.events + count))
    return int(connection.execute(select(phrase_sets.c.events).where(row)).scalar_one()) - count + 1


def _standing(connection: Connection, collection_id: str, names: abc.Collection[str]) -> dict[_Key, int]:
    """The numbers of the matches of these phrases that are not withdrawn."""
    c = matches.c
    rows = connection.execute(
        select(c.phrase, c.document_id, c.start, c.end, c.number).where(
            _stand(collection_id), c.phrase.in_(listed(connection, names))
        )
    )
    return {(row.phrase, row.document_id, row.start, row.end): row.number for row in rows}


def _key(match: Match) -> _Key:
    return match.phrase, match.document_id, match.span.start, match.span.end


def _columns(match: Match, number: int) -> dict[str, object]:
    return {
        "number": number,
        "phrase": match.phrase,
        "tags": list(match.tags),
        "document_id": match.document_id,
        "start": match.span.start,
        "end": match.span.end,
        "text": match.text,
        "score": match.score,
        "raw": match.raw,
        "probability": match.probability,
        "verdict": match.verdict,
    }


def _event(row: Row[*tuple[Any, ...]], kind: EventKind) -> MatchEvent:
    is_match = kind == "matched"
    return converted(
        row,
        MatchEvent,
        number=row.number if is_match else row.withdrawn,
        kind=kind,
        at=row.found_at if is_match else row.withdrawn_at,
        id=row.number,
        tags=tuple(row.tags),
        span=CharSpan(row.start, row.end),
        calibration=row.calibration_id,
        reason=None if is_match else row.reason,
    )
