"""The queue of those who wait for a collection's lease."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0012 to 0013."""
    id = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
    op.create_table(
        "lease_waits",
        sa.Column("collection_id", id, nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "holder", name="pk_lease_waits"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_lease_waits_collection_id"),
    )


def downgrade() -> None:
    """From 0013 to 0012."""
    op.drop_table("lease_waits")
