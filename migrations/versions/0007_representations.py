"""The recipes of all representations of a collection in one column instead of three for nuggets."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_COLUMNS = {"fingerprint": sa.Text(), "dim": sa.Integer(), "ratio": sa.Double()}
_COLLECTIONS = sa.table(
    "collections",
    sa.column("id", sa.Text()),
    sa.column("representations", sa.JSON()),
    *(sa.column(f"nugget_{name}", kind) for name, kind in _COLUMNS.items()),
)


def upgrade() -> None:
    """From 0006 to 0007: the list of names becomes an object of details."""
    rows = op.get_bind().execute(sa.select(_COLLECTIONS)).all()
    for row in rows:
        made = {name: getattr(row, f"nugget_{name}") for name in _COLUMNS}
        _update(row.id, {"representations": {} if row.nugget_ratio is None else {"nuggets": made}})
    for name in _COLUMNS:
        op.drop_column("collections", f"nugget_{name}")


def downgrade() -> None:
    """From 0007 to 0006."""
    for name, kind in _COLUMNS.items():
        op.add_column("collections", sa.Column(f"nugget_{name}", kind, nullable=True))
    rows = op.get_bind().execute(sa.select(_COLLECTIONS.c.id, _COLLECTIONS.c.representations)).all()
    for row in rows:
        made = row.representations.get("nuggets", {})
        columns = {f"nugget_{name}": value for name, value in made.items()}
        _update(row.id, {"representations": ["units", *row.representations], **columns})


def _update(collection: str, values: dict[str, object]) -> None:
    op.execute(_COLLECTIONS.update().where(_COLLECTIONS.c.id == collection).values(values))
