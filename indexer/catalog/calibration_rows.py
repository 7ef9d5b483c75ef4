"""Write calibrations within a transaction that holds the collection's lock."""

from dataclasses import fields
from datetime import datetime
from uuid import uuid4

from sqlalchemy import Connection, delete, insert

from indexer.catalog.tables import active_calibrations, calibrations
from indexer.tuning import Calibration, CalibrationDraft


def insert_calibration(
    connection: Connection, collection_id: str, draft: CalibrationDraft, now: datetime, *, activate: bool
) -> Calibration:
    """Store a checked calibration, and optionally make it the active one of its mode."""
    values = {field.name: getattr(draft, field.name) for field in fields(CalibrationDraft)}
    calibration = Calibration(**values, id=uuid4().hex, created_at=now, active=activate)
    connection.execute(
        insert(calibrations).values(
            id=calibration.id,
            collection_id=collection_id,
            mode=calibration.mode,
            fingerprint=calibration.fingerprint,
            shortest=calibration.bounds.shortest,
            longest=calibration.bounds.longest,
            knots=[list(knot) for knot in calibration.knots],
            method=calibration.method,
            labels=calibration.labels,
            note=calibration.note,
            figures=dict(calibration.figures),
            created_at=calibration.created_at,
        )
    )
    if activate:
        make_active(connection, collection_id, calibration, now)
    return calibration


def make_active(connection: Connection, collection_id: str, calibration: Calibration, now: datetime) -> None:
    """Make a stored calibration the active one of its mode."""
    of_mode = (active_calibrations.c.collection_id == collection_id) & (active_calibrations.c.mode == calibration.mode)
    connection.execute(delete(active_calibrations).where(of_mode))
    connection.execute(
        insert(active_calibrations).values(
            collection_id=collection_id, mode=calibration.mode, calibration_id=calibration.id, activated_at=now
        )
    )
