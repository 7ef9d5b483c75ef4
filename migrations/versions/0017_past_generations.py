"""When generations ended that readers may still page through."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0016 to 0017."""
    id = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
    op.create_table(
        "past_generations",
        sa.Column("collection_id", id, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "number", name="pk_past_generations"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_past_generations_collection_id"),
    )


def downgrade() -> None:
    """From 0017 to 0016."""
    op.execute("DELETE FROM tombstones WHERE segment IN (SELECT name FROM segments WHERE retired_in IS NOT NULL)")
    op.drop_table("past_generations")
