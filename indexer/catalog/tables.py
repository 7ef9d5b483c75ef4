"""All tables of the catalog.

Text is compared and ordered by its bytes, on PostgreSQL by the collation "C", so that both databases agree with
Python's ``sorted``.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    false,
    text,
)

from indexer.catalog.sql import UtcDateTime, by_bytes, id_type

# Constraints get the same names on both databases, so that a later migration can name them.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


collections = Table(
    "collections",
    metadata,
    Column("id", id_type(), primary_key=True),
    Column("name", by_bytes(63), nullable=False, unique=True),
    Column("encoder", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("dim", Integer, nullable=False),
    Column("shortest", Integer, nullable=False),
    Column("longest", Integer, nullable=False),
    # An object: how every representation besides units was made, by name.
    Column("representations", JSON, nullable=False),
    # Counts the commits that change what readers see. Writers of the collection queue at the row's lock.
    Column("generation", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

# Further names of collections, none of which a collection has.
aliases = Table(
    "aliases",
    metadata,
    Column("name", by_bytes(63), primary_key=True),
    Column("collection_id", id_type(), ForeignKey(collections.c.id), nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Index(None, "collection_id"),
)

segments = Table(
    "segments",
    metadata,
    Column("name", id_type(), primary_key=True),
    Column("collection_id", id_type(), ForeignKey(collections.c.id), nullable=False),
    Column("manifest_sha256", Text, nullable=False),
    Column("documents", BigInteger, nullable=False),
    Column("parts", BigInteger, nullable=False),
    Column("units", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("added_in", BigInteger, nullable=False),
    # The first generation without the segment; null while it is live.
    Column("retired_in", BigInteger),
    # Its files are kept for a while for readers of older generations.
    Column("retired_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "collection_id"),
)

# One row per live document: its segment and its ordinal there. Replaced and deleted documents leave a tombstone.
documents = Table(
    "documents",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("document_id", by_bytes(512), primary_key=True),
    Column("segment", id_type(), ForeignKey(segments.c.name), nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("content_hash", Text, nullable=False),
    # Without this index, retiring a segment would scan all documents.
    Index(None, "segment"),
    sqlite_with_rowid=False,  # the key is the table: one B-tree instead of two
)

# One row per replaced or deleted document of a segment, and the first generation without it.
tombstones = Table(
    "tombstones",
    metadata,
    Column("segment", id_type(), ForeignKey(segments.c.name), primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("generation", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# When generations ended that readers may still page through. The sweep forgets them together with retired segments.
past_generations = Table(
    "past_generations",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("ended_at", UtcDateTime, nullable=False),
)

# At most one writer per collection. Every acquisition of a lease has its own token.
leases = Table(
    "leases",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("holder", Text, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("token", Text, nullable=False),
)

lease_waits = Table(
    "lease_waits",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("holder", Text, primary_key=True),
    Column("since", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", id_type(), primary_key=True),
    Column("name", Text, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("collections", JSON(none_as_null=True)),  # null: all of them
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    Column("expires_at", UtcDateTime),
    Column("rate", Integer),  # requests a minute; null: no limit
    Column("last_used_at", UtcDateTime),
    Column("filter", Text),  # an expression that always holds; null: none
)

# Maps from raw to score, each for one encoder, mode and span bounds.
calibrations = Table(
    "calibrations",
    metadata,
    Column("id", id_type(), primary_key=True),
    Column("collection_id", id_type(), ForeignKey(collections.c.id), nullable=False),
    Column("mode", by_bytes(32), nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("shortest", Integer, nullable=False),
    Column("longest", Integer, nullable=False),
    Column("knots", JSON, nullable=False),
    Column("method", Text, nullable=False),
    Column("labels", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    Column("figures", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "collection_id"),
)

# The primary key ensures that at most one calibration of a collection and mode is active.
active_calibrations = Table(
    "active_calibrations",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("mode", by_bytes(32), primary_key=True),
    Column("calibration_id", id_type(), ForeignKey(calibrations.c.id), nullable=False),
    Column("activated_at", UtcDateTime, nullable=False),
)

# One row per change of a threshold; the highest number is in force. Rows are never changed.
thresholds = Table(
    "thresholds",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("mode", by_bytes(32), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("value", Double),  # null: the threshold was removed
    Column("scale", Text, nullable=False),
    # The value on raw when it was set. No foreign key: the calibration of that time may be deleted.
    Column("raw", Double),
    Column("calibration_id", id_type()),
    # The number of the row that undoing restores, 0 for no threshold; null where there is nothing to undo.
    Column("goes_back_to", BigInteger),
    Column("undo", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Column("set_at", UtcDateTime, nullable=False),
)

# One row per collection that ever had a phrase: the numbers of changes of its phrases and of events of their matches.
# Matches that were withdrawn by an event up to number ``forgotten`` are deleted.
phrase_sets = Table(
    "phrase_sets",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("forgotten", BigInteger, nullable=False, server_default="0"),
)

phrases = Table(
    "phrases",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("name", by_bytes(200), primary_key=True),
    Column("text", Text, nullable=False),
    Column("document_filter", JSON, nullable=False),
    Column("part_filter", JSON, nullable=False),
    # As a string; empty without one.
    Column("filter_expression", Text, nullable=False, server_default=text("''")),
    Column("note", Text, nullable=False),
    # A sorted list of strings.
    Column("tags", JSON, nullable=False, server_default=text("'[]'")),
    # Not matched against new documents.
    Column("paused", Boolean, nullable=False, server_default=false()),
    # Matches that the second look does not call likely are left out.
    Column("likely_only", Boolean, nullable=False, server_default=false()),
    # float32, little-endian, of unit length, by the collection's encoder, which never changes.
    Column("vector", LargeBinary, nullable=False),
    # The version of the set that last changed the phrase.
    Column("changed_in", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
)

# As ``thresholds``, for phrases.
phrase_thresholds = Table(
    "phrase_thresholds",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("phrase", by_bytes(200), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("scale", Text, nullable=False),
    Column("raw", Double),
    Column("calibration_id", id_type()),
    Column("goes_back_to", BigInteger),
    Column("undo", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Column("set_at", UtcDateTime, nullable=False),
)

# One row per match. Adding and withdrawing it are two events, numbered together under the collection's row lock, so
# that they are committed in the order of their numbers and no reader skips one.
matches = Table(
    "matches",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("phrase", by_bytes(200), nullable=False),
    # Those of the phrase when it matched, so that a reader of a tag reads both events of a match or neither.
    Column("tags", JSON, nullable=False, server_default=text("'[]'")),
    Column("document_id", by_bytes(512), nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger, nullable=False),
    # JSON, because a text may hold a NUL. Null once the match is withdrawn, so that deleted texts are not stored.
    Column("text", JSON(none_as_null=True)),
    Column("score", Double, nullable=False),
    Column("raw", Double, nullable=False),
    Column("calibration_id", id_type()),
    Column("generation", BigInteger, nullable=False),
    Column("found_at", UtcDateTime, nullable=False),
    Column("withdrawn", BigInteger),  # the number of the other event
    Column("withdrawn_at", UtcDateTime),
    Column("reason", Text),
    # What the second look said when it matched; null where it was not judged.
    Column("probability", Double),
    Column("verdict", Text),
    Index("ix_matches_document_id", "collection_id", "document_id"),
    Index("ix_matches_phrase", "collection_id", "phrase", "number"),
    Index("ix_matches_withdrawn", "collection_id", "withdrawn"),
)

# Tasks outlive the collections they were for: no foreign key.
tasks = Table(
    "tasks",
    metadata,
    # Sorts by time.
    Column("id", id_type(), primary_key=True),
    Column("kind", by_bytes(32), nullable=False),
    Column("collection", by_bytes(63), nullable=False),
    Column("target_id", id_type(), nullable=False),
    Column("status", by_bytes(16), nullable=False),
    Column("options", JSON, nullable=False),
    # What it occupies of the backlog until it ends.
    Column("bytes", BigInteger, nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    # Where a resumed task goes on, and its counts until then.
    Column("checkpoint", JSON, nullable=False),
    Column("result", JSON(none_as_null=True)),
    Column("error", JSON(none_as_null=True)),
    Column("cancelled", Boolean, nullable=False),
    Column("starts", Integer, nullable=False),
    # The worker that runs it, or the server that receives it.
    Column("holder", Text),
    Column("token", id_type()),
    Column("expires_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    # Runs that ended without progress since the last one that made some.
    Column("failures", Integer, nullable=False, server_default="0"),
    # When it was last claimed, since when it fails, and until when it is left alone.
    Column("tried_at", UtcDateTime),
    Column("waiting_since", UtcDateTime),
    Column("retry_at", UtcDateTime),
    Index("ix_tasks_status", "status", "id"),
    Index("ix_tasks_target_id", "target_id", "tried_at"),
)

# Tables of an installation, not of a collection: its snapshots do not have their rows, and those of foreign ones are
# not taken over.
OF_INSTALLATION = (aliases, keys, leases, lease_waits, past_generations, tasks)
