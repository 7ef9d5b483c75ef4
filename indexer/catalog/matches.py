"""What saved phrases matched: found and withdrawn in the transaction that changes the documents, and read as events.

Events of a collection are numbered from 1. Whoever numbers holds the collection's row lock until it commits, so that
an event is never committed after one with a higher number.

What was withdrawn long ago is forgotten, both events of it. Who has read the second one misses nothing, and who has
read neither learns nothing wrong: only a reader between the two would wait for ever, and is told to begin anew.
"""

from collections.abc import Collection as Some
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, null, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.leases import Lease, holding
from indexer.catalog.sql import listed, listed_numbers
from indexer.catalog.tables import matches, phrase_sets
from indexer.errors import CursorExpired
from indexer.phrases import EventCursor, EventKind, EventRead, Match, Matches, MatchEvent, Reason
from models.types import CharSpan

_Key = tuple[str, str, int, int]


class StalePhrases(Exception):
    """The phrases were changed since they were read: match once more. Callers catch it; nobody else ever sees it."""


def keep_matches(connection: Connection, collection_id: str, found: Matches, generation: int, now: datetime) -> None:
    """Within a transaction that has the collection to itself: keep what phrases matched.

    Raises ``StalePhrases`` if they are no longer those that were matched.
    """
    if phrase_version(connection, collection_id) != found.version:
        raise StalePhrases
    if not found.matches:
        return
    first = _take_numbers(connection, collection_id, len(found.matches))
    rows = [_columns(match, number) for number, match in enumerate(found.matches, first)]
    alike = {
        "collection_id": collection_id,
        "calibration_id": found.calibration,
        "generation": generation,
        "found_at": now,
    }
    connection.execute(insert(matches), [row | alike for row in rows])


def withdraw_of_documents(
    connection: Connection, collection_id: str, ids: Iterable[str], reason: Reason, now: datetime
) -> None:
    """Within such a transaction: withdraw all matches in these documents."""
    _withdraw(connection, collection_id, matches.c.document_id.in_(listed(connection, ids)), reason, now)


def withdraw_of_phrases(
    connection: Connection, collection_id: str, names: Iterable[str], reason: Reason, now: datetime
) -> None:
    """Within such a transaction: withdraw all matches of these phrases."""
    _withdraw(connection, collection_id, matches.c.phrase.in_(listed(connection, names)), reason, now)


def replace_matches(catalog: Catalog, lease: Lease, names: Some[str], found: Matches) -> tuple[int, int]:
    """Make what was found the standing matches of these phrases: how many were added, and how many withdrawn.

    Those that stand already keep the score they had. Raises ``StalePhrases`` as :func:`keep_matches` does.
    """
    with holding(catalog, lease) as (connection, generation):
        standing = _standing(connection, lease.collection_id, names)
        keys = set(map(_key, found.matches))
        new = tuple(match for match in found.matches if _key(match) not in standing)
        gone = [number for key, number in standing.items() if key not in keys]
        if gone:
            these = matches.c.number.in_(listed_numbers(connection, gone))
            _withdraw(connection, lease.collection_id, these, "rematched", catalog.clock())
        keep_matches(connection, lease.collection_id, replace(found, matches=new), generation, catalog.clock())
    return len(new), len(gone)


def read_events(
    catalog: Catalog, collection_id: str, after: EventCursor | None, limit: int, phrases: Some[str] = ()
) -> EventRead:
    """The events that follow a cursor (None: all), in their order, at most ``limit``: of all phrases, or of some.

    Raises ``CursorExpired`` where a withdrawal that the reader has not read may have been forgotten.
    """
    with catalog.database.snapshot() as connection:
        last, forgotten = _counted(connection, collection_id)
        number = _number(after, forgotten)
        these = matches.c.collection_id == collection_id
        if phrases:
            these &= matches.c.phrase.in_(listed(connection, phrases))
        found = [
            *(_event(row, "matched") for row in _after(connection, these, matches.c.number, number, limit + 1)),
            *(_event(row, "withdrawn") for row in _after(connection, these, matches.c.withdrawn, number, limit + 1)),
        ]
    found.sort(key=lambda event: event.number)
    kept, more = tuple(found[:limit]), len(found) > limit
    # At the end all that there is has been read, of other phrases, too: nothing of it can be missed any more.
    return EventRead(kept, EventCursor(kept[-1].number if more else max(number, last), forgotten), more)


def forget_withdrawn(catalog: Catalog, lease: Lease, until: datetime) -> None:
    """Forget the matches that were withdrawn by this time."""
    with holding(catalog, lease) as (connection, _):
        these = (matches.c.collection_id == lease.collection_id) & matches.c.withdrawn.is_not(None)
        # The first one says whether there are any: one look at the index, however many there are.
        oldest = select(matches.c.withdrawn_at).where(these).order_by(matches.c.withdrawn).limit(1)
        first = connection.execute(oldest).scalar()
        if first is None or first > until:
            return
        last = select(func.max(matches.c.withdrawn)).where(these, matches.c.withdrawn_at <= until)
        forgotten = connection.execute(last).scalar_one()
        connection.execute(delete(matches).where(these, matches.c.withdrawn <= forgotten))
        this = phrase_sets.c.collection_id == lease.collection_id
        connection.execute(update(phrase_sets).where(this).values(forgotten=forgotten))


def phrase_version(connection: Connection, collection_id: str) -> int:
    """How often the collection's phrases were changed; 0 where it never had any."""
    found = connection.scalar(select(phrase_sets.c.version).where(phrase_sets.c.collection_id == collection_id))
    return 0 if found is None else int(found)


def _withdraw(
    connection: Connection, collection_id: str, these: ColumnElement[bool], reason: Reason, now: datetime
) -> None:
    standing = (matches.c.collection_id == collection_id) & matches.c.withdrawn.is_(None) & these
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
    """How many events there were, and up to which of them withdrawn matches are forgotten."""
    these = select(phrase_sets.c.events, phrase_sets.c.forgotten).where(phrase_sets.c.collection_id == collection_id)
    found = connection.execute(these).first()
    return (0, 0) if found is None else (found.events, found.forgotten)


def _number(after: EventCursor | None, forgotten: int) -> int:
    """The number that a cursor stands behind, if nothing can have been missed."""
    if after is None:
        return 0
    if after.number < forgotten and after.forgotten != forgotten:
        raise CursorExpired(
            "The cursor is too old: withdrawals that follow it have been forgotten.",
            hint="Forget all matches that you know of and read again without a cursor: you get those that stand.",
            field="cursor",
        )
    return after.number


def _after(
    connection: Connection, these: ColumnElement[bool], number: ColumnElement[int], after: int, limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    return connection.execute(select(matches).where(these, number > after).order_by(number).limit(limit)).all()


def _take_numbers(connection: Connection, collection_id: str, count: int) -> int:
    """The first of so many numbers that no event has."""
    this = phrase_sets.c.collection_id == collection_id
    connection.execute(update(phrase_sets).where(this).values(events=phrase_sets.c.events + count))
    return int(connection.execute(select(phrase_sets.c.events).where(this)).scalar_one()) - count + 1


def _standing(connection: Connection, collection_id: str, names: Some[str]) -> dict[_Key, int]:
    """The numbers of the matches of these phrases that were not withdrawn."""
    c = matches.c
    rows = connection.execute(
        select(c.phrase, c.document_id, c.start, c.end, c.number).where(
            c.collection_id == collection_id, c.withdrawn.is_(None), c.phrase.in_(listed(connection, names))
        )
    )
    return {(row.phrase, row.document_id, row.start, row.end): row.number for row in rows}


def _key(match: Match) -> _Key:
    return match.phrase, match.document_id, match.span.start, match.span.end


def _columns(match: Match, number: int) -> dict[str, object]:
    return {
        "number": number,
        "phrase": match.phrase,
        "document_id": match.document_id,
        "start": match.span.start,
        "end": match.span.end,
        "text": match.text,
        "score": match.score,
        "raw": match.raw,
    }


def _event(row: Row[*tuple[Any, ...]], kind: EventKind) -> MatchEvent:
    found = kind == "matched"
    return MatchEvent(
        number=row.number if found else row.withdrawn,
        kind=kind,
        at=row.found_at if found else row.withdrawn_at,
        id=row.number,
        phrase=row.phrase,
        document_id=row.document_id,
        span=CharSpan(row.start, row.end),
        text=row.text,
        score=row.score,
        raw=row.raw,
        calibration=row.calibration_id,
        generation=row.generation,
        reason=None if found else row.reason,
    )
