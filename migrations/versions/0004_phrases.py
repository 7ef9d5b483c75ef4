"""Saved phrases, their thresholds with history, and what they matched."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def _by_bytes(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """From 0003 to 0004."""
    op.create_table(
        "phrase_sets",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", name="pk_phrase_sets"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_phrase_sets_collection_id"),
    )
    op.create_table(
        "phrases",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("name", _by_bytes(200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("document_filter", sa.JSON(), nullable=False),
        sa.Column("part_filter", sa.JSON(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.Column("changed_in", sa.BigInteger(), nullable=False),
        sa.Column("created_at", _moment(), nullable=False),
        sa.Column("changed_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "name", name="pk_phrases"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_phrases_collection_id"),
    )
    op.create_table(
        "phrase_thresholds",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("phrase", _by_bytes(200), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("scale", sa.Text(), nullable=False),
        sa.Column("raw", sa.Double(), nullable=True),
        sa.Column("calibration_id", _by_bytes(64), nullable=True),
        sa.Column("goes_back_to", sa.BigInteger(), nullable=True),
        sa.Column("undo", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("set_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "phrase", "number", name="pk_phrase_thresholds"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_phrase_thresholds_collection_id"),
    )
    op.create_table(
        "matches",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("phrase", _by_bytes(200), nullable=False),
        sa.Column("document_id", _by_bytes(512), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("raw", sa.Double(), nullable=False),
        sa.Column("calibration_id", _by_bytes(64), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("found_at", _moment(), nullable=False),
        sa.Column("withdrawn", sa.BigInteger(), nullable=True),
        sa.Column("withdrawn_at", _moment(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("collection_id", "number", name="pk_matches"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_matches_collection_id"),
    )
    op.create_index("ix_matches_document_id", "matches", ["collection_id", "document_id"])
    op.create_index("ix_matches_phrase", "matches", ["collection_id", "phrase", "number"])
    op.create_index("ix_matches_withdrawn", "matches", ["collection_id", "withdrawn"])


def downgrade() -> None:
    """From 0004 to 0003."""
    for table in ("matches", "phrase_thresholds", "phrases", "phrase_sets"):
        op.drop_table(table)
