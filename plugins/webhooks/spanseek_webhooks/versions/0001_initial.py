"""The tables of webhooks; those of a catalog from before Spanseek 0.4, which had them in its core, stay."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _by_bytes(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _id() -> sa.types.TypeEngine[str]:
    return _by_bytes(64)


def _time() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """To 0001."""
    if sa.inspect(op.get_bind()).has_table("webhooks"):
        return
    op.create_table(
        "webhooks",
        sa.Column("id", _id(), nullable=False),
        sa.Column("collection_id", _id(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("matches", sa.Boolean(), nullable=False),
        sa.Column("tasks", sa.Boolean(), nullable=False),
        sa.Column("phrases", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("salt", sa.Text(), nullable=False),
        sa.Column("key_mark", sa.Text(), nullable=False),
        sa.Column("sent", sa.BigInteger(), nullable=False),
        sa.Column("forgotten", sa.BigInteger(), nullable=False),
        sa.Column("letters", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", _time()),
        sa.Column("retry_at", _time()),
        sa.Column("error", sa.JSON()),
        sa.Column("tried_at", _time()),
        sa.Column("delivered_at", _time()),
        sa.Column("holder", sa.Text()),
        sa.Column("token", _id()),
        sa.Column("expires_at", _time()),
        sa.Column("created_at", _time(), nullable=False),
        sa.Column("changed_at", _time(), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_webhooks_collection_id"),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_index("ix_webhooks_collection_id", "webhooks", ["collection_id"])
    op.create_table(
        "webhook_letters",
        sa.Column("webhook_id", _id(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("collection_id", _id(), nullable=False),
        sa.Column("kind", _by_bytes(16), nullable=False),
        sa.Column("dead", sa.Boolean(), nullable=False),
        sa.Column("behind", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("error", sa.JSON()),
        sa.Column("created_at", _time(), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_webhook_letters_collection_id"),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name="fk_webhook_letters_webhook_id"),
        sa.PrimaryKeyConstraint("webhook_id", "number", name="pk_webhook_letters"),
    )
    op.create_index("ix_webhook_letters_collection_id", "webhook_letters", ["collection_id"])


def downgrade() -> None:
    """From 0001."""
    op.drop_index("ix_webhook_letters_collection_id", "webhook_letters")
    op.drop_table("webhook_letters")
    op.drop_index("ix_webhooks_collection_id", "webhooks")
    op.drop_table("webhooks")
