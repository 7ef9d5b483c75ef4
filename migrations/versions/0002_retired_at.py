"""The time at which a segment was retired, so that its files can go after a grace period; documents by segment."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From 0001 to 0002."""
    op.add_column("segments", sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_documents_segment", "documents", ["segment"])


def downgrade() -> None:
    """From 0002 to 0001."""
    op.drop_index("ix_documents_segment", "documents")
    op.drop_column("segments", "retired_at")
