"""Calibrations, which of them is active, and thresholds with their history."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def _by_bytes(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """From 0002 to 0003."""
    op.create_table(
        "calibrations",
        sa.Column("id", _by_bytes(64), nullable=False),
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("mode", _by_bytes(32), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("shortest", sa.Integer(), nullable=False),
        sa.Column("longest", sa.Integer(), nullable=False),
        sa.Column("knots", sa.JSON(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("labels", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.Column("created_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_calibrations"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_calibrations_collection_id"),
    )
    op.create_index("ix_calibrations_collection_id", "calibrations", ["collection_id"])
    op.create_table(
        "active_calibrations",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("mode", _by_bytes(32), nullable=False),
        sa.Column("calibration_id", _by_bytes(64), nullable=False),
        sa.Column("activated_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "mode", name="pk_active_calibrations"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_active_calibrations_collection_id"),
        sa.ForeignKeyConstraint(["calibration_id"], ["calibrations.id"], name="fk_active_calibrations_calibration_id"),
    )
    op.create_table(
        "thresholds",
        sa.Column("collection_id", _by_bytes(64), nullable=False),
        sa.Column("mode", _by_bytes(32), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("scale", sa.Text(), nullable=False),
        sa.Column("raw", sa.Double(), nullable=True),
        sa.Column("calibration_id", _by_bytes(64), nullable=True),
        sa.Column("goes_back_to", sa.BigInteger(), nullable=True),
        sa.Column("undo", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("set_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "mode", "number", name="pk_thresholds"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_thresholds_collection_id"),
    )


def downgrade() -> None:
    """From 0003 to 0002."""
    for table in ("thresholds", "active_calibrations", "calibrations"):
        op.drop_table(table)
