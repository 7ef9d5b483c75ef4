"""Webhooks leave the core: their tables stay where they have rows, for the plug-in that goes on with them."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_WEBHOOKS = import_module("migrations.versions.0014_webhooks")


def upgrade() -> None:
    """From 0017 to 0018."""
    if not op.get_bind().scalar(sa.text("SELECT count(*) FROM webhooks")):
        _WEBHOOKS.drop_webhooks()


def downgrade() -> None:
    """From 0018 to 0017."""
    if not sa.inspect(op.get_bind()).has_table("webhooks"):
        _WEBHOOKS.create_webhooks()
