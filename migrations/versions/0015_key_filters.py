"""The filter of a key."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0012 to 0015."""
    op.add_column("keys", sa.Column("filter", sa.Text()))


def downgrade() -> None:
    """From 0015 to 0012."""
    op.drop_column("keys", "filter")
