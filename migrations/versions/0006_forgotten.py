"""Up to which event withdrawn matches are forgotten."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0005 to 0006."""
    op.add_column("phrase_sets", sa.Column("forgotten", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    """From 0006 to 0005."""
    op.drop_column("phrase_sets", "forgotten")
