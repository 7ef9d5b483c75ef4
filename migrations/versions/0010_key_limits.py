"""Expiry, rate limit and last use of keys."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0009 to 0010."""
    op.add_column("keys", sa.Column("expires_at", sa.DateTime(timezone=True)))
    op.add_column("keys", sa.Column("rate", sa.Integer()))
    op.add_column("keys", sa.Column("last_used_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """From 0010 to 0009."""
    for name in ("last_used_at", "rate", "expires_at"):
        op.drop_column("keys", name)
