"""What the second look says of the matches of saved phrases."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0015 to 0016."""
    op.add_column("phrases", sa.Column("likely_only", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("matches", sa.Column("probability", sa.Double()))
    op.add_column("matches", sa.Column("verdict", sa.Text()))


def downgrade() -> None:
    """From 0016 to 0015."""
    op.drop_column("matches", "verdict")
    op.drop_column("matches", "probability")
    op.drop_column("phrases", "likely_only")
