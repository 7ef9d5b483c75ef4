"""Aliases of collections."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def _by_bytes(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def upgrade() -> None:
    """From 0007 to 0008."""
    op.create_table(
        "aliases",
        sa.Column("name", _by_bytes(63), nullable=False),
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_aliases"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_aliases_collection_id"),
    )
    op.create_index("ix_aliases_collection_id", "aliases", ["collection_id"])


def downgrade() -> None:
    """From 0008 to 0007."""
    op.drop_table("aliases")
