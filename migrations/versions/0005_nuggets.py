"""The recipe of a collection's nuggets."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_COLUMNS = {"nugget_fingerprint": sa.Text(), "nugget_dim": sa.Integer(), "nugget_ratio": sa.Double()}


def upgrade() -> None:
    """From 0004 to 0005."""
    for name, kind in _COLUMNS.items():
        op.add_column("collections", sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    """From 0005 to 0004."""
    for name in _COLUMNS:
        op.drop_column("collections", name)
