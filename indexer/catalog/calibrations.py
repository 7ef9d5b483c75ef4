"""The calibrations of collections. At most one of each mode is active, and each change is one commit."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection, Row, Select, delete, select

from indexer.catalog.calibration_rows import insert_calibration, make_active
from indexer.catalog.collections import Catalog, find_collection
from indexer.catalog.names import checked_note
from indexer.catalog.tables import active_calibrations, calibrations
from indexer.errors import CalibrationActive, CalibrationMismatch, CalibrationNotFound
from indexer.tuning import Calibration, CalibrationDraft
from models.errors import InvalidInput
from models.fields import converted
from models.ops.calibrate import check_knots
from models.types import SpanBounds

# Shorter prefixes are refused: they soon become ambiguous.
_SHORTEST_PREFIX = 4
_PREFIX = re.compile(f"[0-9a-f]{{{_SHORTEST_PREFIX},32}}")


def add_calibration(
    catalog: Catalog, name: str, draft: CalibrationDraft, *, fingerprint: str | None = None, activate: bool = False
) -> Calibration:
    """Store a calibration of a collection, and optionally make it the active one of its mode in the same commit.

    ``fingerprint`` names the mode's encoder, by default the recipe's.
    Raises ``CalibrationMismatch`` if it was made for another encoder or other span bounds than the collection.
    """
    with catalog.locked(name) as (connection, collection_id):
        recipe = find_collection(connection, name).recipe
        _check(draft, name, fingerprint or recipe.fingerprint, recipe.bounds)
        return insert_calibration(connection, collection_id, draft, catalog.clock(), activate=activate)


def list_calibrations(catalog: Catalog, name: str) -> tuple[Calibration, ...]:
    """All calibrations of a collection, the newest first."""
    with catalog.reading(name) as (connection, collection_id):
        rows = connection.execute(
            _selected(collection_id).order_by(calibrations.c.created_at.desc(), calibrations.c.id)
        ).all()
    return tuple(map(_calibration, rows))


def activate_calibration(catalog: Catalog, name: str, id: str) -> Calibration:
    """Make a calibration the active one of its mode. Idempotent."""
    with catalog.locked(name) as (connection, collection_id):
        calibration = _find(connection, collection_id, name, id)
        make_active(connection, collection_id, calibration, catalog.clock())
    return replace(calibration, active=True)


def deactivate_calibration(catalog: Catalog, name: str, id: str) -> Calibration:
    """Deactivate a calibration, so that score equals raw. Idempotent."""
    with catalog.locked(name) as (connection, collection_id):
        calibration = _find(connection, collection_id, name, id)
        connection.execute(delete(active_calibrations).where(active_calibrations.c.calibration_id == calibration.id))
    return replace(calibration, active=False)


def delete_calibration(catalog: Catalog, name: str, id: str) -> None:
    """Delete a calibration; raises ``CalibrationActive`` for the active one. Thresholds set under it keep their raw."""
    with catalog.locked(name) as (connection, collection_id):
        calibration = _find(connection, collection_id, name, id)
        if calibration.active:
            raise CalibrationActive(
                f"The calibration {calibration.id} of {name} is the active one.",
                hint="Deactivate it first, or activate another.",
            )
        connection.execute(delete(calibrations).where(calibrations.c.id == calibration.id))


def _check(draft: CalibrationDraft, name: str, fingerprint: str, bounds: SpanBounds) -> None:
    checked_note(draft.note)
    try:
        check_knots(np.array(draft.knots, np.float64).reshape(-1, 2))
    except ValueError as error:
        raise InvalidInput(f"These knots are no calibration: {error}.", field="knots") from error
    if (draft.fingerprint, draft.bounds) != (fingerprint, bounds):
        raise CalibrationMismatch(
            f"The calibration was made for {_in_words(draft.fingerprint, draft.bounds)}; "
            f"the collection {name} has {_in_words(fingerprint, bounds)}.",
            hint="Calibrate this collection with labels of its own.",
            field="collection",
        )


def _in_words(fingerprint: str, bounds: SpanBounds) -> str:
    return f"{fingerprint} and spans of {bounds.shortest} to {bounds.longest} units"


def _find(connection: Connection, collection_id: str, name: str, id: str) -> Calibration:
    """Find a calibration by its id or a unique prefix. Raises ``CalibrationNotFound`` or ``InvalidInput``."""
    rows = _rows_of_prefix(connection, collection_id, id) if _PREFIX.fullmatch(id) else []
    if not rows:
        raise CalibrationNotFound(
            f"The collection {name} has no calibration {id!r}.",
            hint=f"List its calibrations. A unique prefix of at least {_SHORTEST_PREFIX} characters is enough.",
            field="calibration",
        )
    if len(rows) > 1:
        raise InvalidInput(
            f"Several calibrations of {name} begin with {id!r}.", hint="Give more characters.", field="calibration"
        )
    return _calibration(rows[0])


def _rows_of_prefix(connection: Connection, collection_id: str, prefix: str) -> Sequence[Row[*tuple[object, ...]]]:
    """At most two of the calibrations whose ids begin with a prefix."""
    return connection.execute(_selected(collection_id).where(calibrations.c.id.startswith(prefix)).limit(2)).all()


def _selected(collection_id: str) -> Select[*tuple[object, ...]]:
    return (
        select(calibrations, active_calibrations.c.calibration_id.is_not(None).label("active"))
        .outerjoin_from(calibrations, active_calibrations)
        .where(calibrations.c.collection_id == collection_id)
    )


def _calibration(row: Row[*tuple[object, ...]]) -> Calibration:
    bounds, knots = SpanBounds(row.shortest, row.longest), tuple((raw, score) for raw, score in row.knots)
    return converted(row, Calibration, bounds=bounds, knots=knots, active=bool(row.active))
