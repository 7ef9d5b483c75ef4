"""Collections, segments, documents, tombstones, leases and keys."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _by_bytes(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """From nothing to 0001."""
    op.create_table(
        "collections",
        sa.Column("id", _by_bytes(64), nullable=False),
        sa.Column("name", _by_bytes(63), nullable=False),
        sa.Column("encoder", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("shortest", sa.Integer(), nullable=False),
        sa.Column("longest", sa.Integer(), nullable=False),
        sa.Column("representations", sa.JSON(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("created_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_collections"),
        sa.UniqueConstraint("name", name="uq_collections_name"),
    )
    op.create_table(
        "segments",
        sa.Column("name", _by_bytes(64), nullable=False),
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("manifest_sha256", sa.Text(), nullable=False),
        sa.Column("documents", sa.BigInteger(), nullable=False),
        sa.Column("parts", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("added_in", sa.BigInteger(), nullable=False),
        sa.Column("retired_in", sa.BigInteger(), nullable=True),
        sa.Column("created_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_segments"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_segments_collection_id"),
    )
    op.create_index("ix_segments_collection_id", "segments", ["collection_id"])
    op.create_table(
        "documents",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("document_id", _by_bytes(512), nullable=False),
        sa.Column("segment", _by_bytes(64), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "document_id", name="pk_documents"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_documents_collection_id"),
        sa.ForeignKeyConstraint(["segment"], ["segments.name"], name="fk_documents_segment"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tombstones",
        sa.Column("segment", _by_bytes(64), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("segment", "ordinal", name="pk_tombstones"),
        sa.ForeignKeyConstraint(["segment"], ["segments.name"], name="fk_tombstones_segment"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "leases",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("expires_at", _moment(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", name="pk_leases"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_leases_collection_id"),
    )
    op.create_table(
        "keys",
        sa.Column("id", _by_bytes(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("collections", sa.JSON(), nullable=True),
        sa.Column("created_at", _moment(), nullable=False),
        sa.Column("revoked_at", _moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
    )


def downgrade() -> None:
    """From 0001 to nothing."""
    for table in ("keys", "leases", "tombstones", "documents", "segments", "collections"):
        op.drop_table(table)
