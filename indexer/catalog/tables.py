"""All tables of Spanseek, and what a row of each stands for.

Text that is compared or ordered is compared by its bytes, on PostgreSQL too (collation "C"), so that both
databases and Python's ``sorted`` agree.
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
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeEngine

from indexer.catalog.sql import UtcDateTime

# Constraints get the same names on both databases, so that a later migration can name them.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _by_bytes(length: int) -> TypeEngine[str]:
    """Text whose order is that of its code points, whatever language the database speaks."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


def _id() -> TypeEngine[str]:
    """A uuid, a ULID or a hash in text form."""
    return _by_bytes(64)


collections = Table(
    "collections",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("name", _by_bytes(63), nullable=False, unique=True),
    Column("encoder", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("dim", Integer, nullable=False),
    Column("shortest", Integer, nullable=False),
    Column("longest", Integer, nullable=False),
    # An object: how every representation besides units was made, by name.
    Column("representations", JSON, nullable=False),
    # Counts the commits that readers can tell apart. Its row lock is what writers of a collection queue at.
    Column("generation", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

segments = Table(
    "segments",
    metadata,
    Column("name", _id(), primary_key=True),
    Column("collection_id", _id(), ForeignKey(collections.c.id), nullable=False),
    Column("manifest_sha256", Text, nullable=False),
    Column("documents", BigInteger, nullable=False),
    Column("parts", BigInteger, nullable=False),
    Column("units", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("added_in", BigInteger, nullable=False),
    # The generation from which on the segment is no longer read; null while it is live.
    Column("retired_in", BigInteger),
    # When that was: its files are kept for those who still read an older generation.
    Column("retired_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "collection_id"),
)

# One row per LIVE document: where it lies now. One that is replaced or deleted leaves a tombstone instead.
documents = Table(
    "documents",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("document_id", _by_bytes(512), primary_key=True),
    Column("segment", _id(), ForeignKey(segments.c.name), nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("content_hash", Text, nullable=False),
    # Without it, each segment that is taken out would cost a walk through all documents.
    Index(None, "segment"),
    sqlite_with_rowid=False,  # the key is the table: one B-tree instead of two
)

# One row per document of a segment that is dead, and the generation from which on it is.
tombstones = Table(
    "tombstones",
    metadata,
    Column("segment", _id(), ForeignKey(segments.c.name), primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("generation", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# At most one writer per collection; the token tells one taking of the lease from the next.
leases = Table(
    "leases",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("holder", Text, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("token", Text, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("name", Text, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("collections", JSON(none_as_null=True)),  # null: all of them
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
)

# Maps from raw to score, each for one encoder, mode and span bounds.
calibrations = Table(
    "calibrations",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("collection_id", _id(), ForeignKey(collections.c.id), nullable=False),
    Column("mode", _by_bytes(32), nullable=False),
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

# The key says it: at most one calibration of a collection and mode is active.
active_calibrations = Table(
    "active_calibrations",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("mode", _by_bytes(32), primary_key=True),
    Column("calibration_id", _id(), ForeignKey(calibrations.c.id), nullable=False),
    Column("activated_at", UtcDateTime, nullable=False),
)

# One row per change of a threshold; the one with the highest number is in force. Rows are never changed.
thresholds = Table(
    "thresholds",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("mode", _by_bytes(32), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("value", Double),  # null: the threshold was taken away
    Column("scale", Text, nullable=False),
    # What the value was on raw when it was set. No key: the calibration it was set under may be deleted.
    Column("raw", Double),
    Column("calibration_id", _id()),
    # The number of the state that undoing leads to, 0 for none at all; null where nothing is left to undo.
    Column("goes_back_to", BigInteger),
    Column("undo", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Column("set_at", UtcDateTime, nullable=False),
)

# One row per collection that ever had a phrase: counts the changes of its phrases, and the events of their matches.
# Matches that were withdrawn by an event up to number ``forgotten`` are no longer kept.
phrase_sets = Table(
    "phrase_sets",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("forgotten", BigInteger, nullable=False, server_default="0"),
)

phrases = Table(
    "phrases",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("name", _by_bytes(200), primary_key=True),
    Column("text", Text, nullable=False),
    Column("document_filter", JSON, nullable=False),
    Column("part_filter", JSON, nullable=False),
    Column("note", Text, nullable=False),
    # float32, little-endian, of unit length: a collection has one encoder for good, so it need not be named.
    Column("vector", LargeBinary, nullable=False),
    # The version of the set in which it became what it is.
    Column("changed_in", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
)

# As ``thresholds``, for phrases.
phrase_thresholds = Table(
    "phrase_thresholds",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("phrase", _by_bytes(200), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("scale", Text, nullable=False),
    Column("raw", Double),
    Column("calibration_id", _id()),
    Column("goes_back_to", BigInteger),
    Column("undo", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Column("set_at", UtcDateTime, nullable=False),
)

# One row per match that ever was. Finding it is one event and withdrawing it another; both have numbers of one count,
# given while the collection's row is locked: they are committed in their order, so that no reader passes one over.
matches = Table(
    "matches",
    metadata,
    Column("collection_id", _id(), ForeignKey(collections.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("phrase", _by_bytes(200), nullable=False),
    Column("document_id", _by_bytes(512), nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger, nullable=False),
    # In JSON, because a text may hold a NUL. Null once it is withdrawn: a deleted text is kept nowhere.
    Column("text", JSON(none_as_null=True)),
    Column("score", Double, nullable=False),
    Column("raw", Double, nullable=False),
    Column("calibration_id", _id()),
    Column("generation", BigInteger, nullable=False),
    Column("found_at", UtcDateTime, nullable=False),
    Column("withdrawn", BigInteger),  # the number of the other event
    Column("withdrawn_at", UtcDateTime),
    Column("reason", Text),
    Index("ix_matches_document_id", "collection_id", "document_id"),
    Index("ix_matches_phrase", "collection_id", "phrase", "number"),
    Index("ix_matches_withdrawn", "collection_id", "withdrawn"),
)
