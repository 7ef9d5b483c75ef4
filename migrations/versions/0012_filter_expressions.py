"""The filter expression of a saved phrase."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0011 to 0012."""
    op.add_column("phrases", sa.Column("filter_expression", sa.Text(), nullable=False, server_default=sa.text("''")))


def downgrade() -> None:
    """From 0012 to 0011."""
    op.drop_column("phrases", "filter_expression")
