"""The tables of webhooks in the catalog."""

from sqlalchemy import JSON, BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text

from indexer.catalog.sql import UtcDateTime, by_bytes, id_type
from indexer.catalog.tables import collections, metadata

# Addresses that are told of the matches and the ended tasks of a collection. The secret is not stored: it follows from
# ``salt`` and a key outside of the database, of which ``key_mark`` is a hash.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", id_type(), primary_key=True),
    Column("collection_id", id_type(), ForeignKey(collections.c.id), nullable=False),
    Column("url", Text, nullable=False),
    Column("matches", Boolean, nullable=False),
    Column("tasks", Boolean, nullable=False),
    # Only the matches of these phrases, or of these tags; all, where both are empty.
    Column("phrases", JSON, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("note", Text, nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("salt", Text, nullable=False),
    Column("key_mark", Text, nullable=False),
    # The cursor of events: the last one that was sent, and the last deleted one then.
    Column("sent", BigInteger, nullable=False),
    Column("forgotten", BigInteger, nullable=False),
    # The number of its last letter.
    Column("letters", BigInteger, nullable=False),
    # Of the delivery that comes next: tries that failed, since when, until when it is left alone, and the last error.
    Column("failures", Integer, nullable=False),
    Column("failing_since", UtcDateTime),
    Column("retry_at", UtcDateTime),
    Column("error", JSON(none_as_null=True)),
    Column("tried_at", UtcDateTime),
    Column("delivered_at", UtcDateTime),
    # The worker that sends.
    Column("holder", Text),
    Column("token", id_type()),
    Column("expires_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Index(None, "collection_id"),
)

# What a webhook is to send besides the events after its cursor: ends of tasks, and deliveries that failed for too long.
# A letter holds no texts: those of matches are read when it is sent.
webhook_letters = Table(
    "webhook_letters",
    metadata,
    Column("webhook_id", id_type(), ForeignKey(webhooks.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("collection_id", id_type(), ForeignKey(collections.c.id), nullable=False),
    # matches or task.
    Column("kind", by_bytes(16), nullable=False),
    # Dead ones wait until someone sends them again.
    Column("dead", Boolean, nullable=False),
    # The event that is to be sent before it.
    Column("behind", BigInteger, nullable=False),
    # The range of events, or the task.
    Column("content", JSON, nullable=False),
    Column("error", JSON(none_as_null=True)),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_webhook_letters_collection_id", "collection_id"),
)
