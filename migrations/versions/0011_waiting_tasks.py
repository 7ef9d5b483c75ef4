"""The times of a task's last try, of its first failure in a row, and of its next try."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_TIMES = ("tried_at", "waiting_since", "retry_at")


def upgrade() -> None:
    """From 0010 to 0011."""
    op.add_column("tasks", sa.Column("failures", sa.Integer(), nullable=False, server_default="0"))
    for name in _TIMES:
        op.add_column("tasks", sa.Column(name, sa.DateTime(timezone=True)))
    op.create_index("ix_tasks_target_id", "tasks", ["target_id", "tried_at"])


def downgrade() -> None:
    """From 0011 to 0010."""
    op.drop_index("ix_tasks_target_id", "tasks")
    for name in (*_TIMES, "failures"):
        op.drop_column("tasks", name)
