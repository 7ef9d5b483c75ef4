"""${message}."""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """From ${down_revision} to ${up_revision}."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """From ${up_revision} to ${down_revision}."""
    ${downgrades if downgrades else "pass"}
