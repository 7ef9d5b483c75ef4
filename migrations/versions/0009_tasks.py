"""Tasks: work that is queued, resumed and watched."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def _by_bytes(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """From 0008 to 0009."""
    op.create_table(
        "tasks",
        sa.Column("id", _by_bytes(64), nullable=False),
        sa.Column("kind", _by_bytes(32), nullable=False),
        sa.Column("collection", _by_bytes(63), nullable=False),
        sa.Column("target_id", _by_bytes(64), nullable=False),
        sa.Column("status", _by_bytes(16), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=True),
        sa.Column("checkpoint", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("cancelled", sa.Boolean(), nullable=False),
        sa.Column("starts", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("token", _by_bytes(64), nullable=True),
        sa.Column("expires_at", _moment(), nullable=True),
        sa.Column("created_at", _moment(), nullable=False),
        sa.Column("started_at", _moment(), nullable=True),
        sa.Column("finished_at", _moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
    )
    op.create_index("ix_tasks_status", "tasks", ["status", "id"])


def downgrade() -> None:
    """From 0009 to 0008."""
    op.drop_table("tasks")
