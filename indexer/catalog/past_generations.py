"""Generations that newer ones have followed: remembered for a while, so that any server can read them again.

Segments and tombstones say in which generations they were. What a generation needs is in the catalog as long as its
row is: the sweep forgets both at once. A change of the recipe forgets all of them.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from indexer.catalog.collections import Catalog, generation_of
from indexer.catalog.tables import collections, past_generations
from indexer.types import Generation


@dataclass(frozen=True, slots=True)
class PastGeneration:
    """A generation, and when the next one followed it."""

    generation: Generation
    ended_at: datetime


def remember(connection: Connection, collection_id: str, number: int, now: datetime) -> None:
    """Remember that a generation ends now."""
    row = {"collection_id": collection_id, "number": number, "ended_at": now}
    connection.execute(insert(past_generations).values(row))


def forget(connection: Connection, collection_id: str, until: datetime | None = None) -> None:
    """Forget the generations of a collection that ended by a time, or all of them."""
    rows = delete(past_generations).where(past_generations.c.collection_id == collection_id)
    connection.execute(rows if until is None else rows.where(past_generations.c.ended_at <= until))


def read_past(catalog: Catalog, collection_id: str, number: int, since: datetime) -> PastGeneration | None:
    """A generation of a collection that ended after a time; None if there is none, or it is forgotten."""
    row = (past_generations.c.collection_id == collection_id) & (past_generations.c.number == number)
    ended = select(past_generations.c.ended_at).where(row, past_generations.c.ended_at > since)
    with catalog.database.snapshot() as connection:
        ended_at = connection.scalar(ended)
        if ended_at is None:
            return None
        generation = generation_of(connection, collections.c.id == collection_id, number)
    return None if generation is None else PastGeneration(generation, ended_at)
