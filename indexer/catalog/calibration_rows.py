"""Writing calibrations within a transaction that has the collection to itself."""

import uuid
from dataclasses import fields
from datetime import datetime

from sqlalchemy import Connection, delete, insert

from indexer.catalog.tables import active_calibrations, calibrations
from indexer.tuning import Calibration, CalibrationDraft


def new_id() -> str:
    """A new id of 32 hexadecimal digits."""
    return uuid.uuid4().hex


def insert_calibration(
    connection: Connection, collection_id: str, draft: CalibrationDraft, now: datetime, *, activate: bool
) -> Calibration:
    """Keep a calibration, which has been checked, and make it the active one of its mode if asked to."""
    given = {field.name: getattr(draft, field.name) for field in fields(CalibrationDraft)}
    made = Calibration(**given, id=new_id(), created_at=now, active=activate)
    connection.execute(
        insert(calibrations).values(
            id=made.id,
            collection_id=collection_id,
            mode=made.mode,
            fingerprint=made.fingerprint,
            shortest=made.bounds.shortest,
            longest=made.bounds.longest,
            knots=[list(knot) for knot in made.knots],
            method=made.method,
            labels=made.labels,
            note=made.note,
            figures=dict(made.figures),
            created_at=made.created_at,
        )
    )
    if activate:
        make_active(connection, collection_id, made, now)
    return made


def make_active(connection: Connection, collection_id: str, chosen: Calibration, now: datetime) -> None:
    """Make a calibration that is kept the active one of its mode, instead of the one that is."""
    of_mode = (active_calibrations.c.collection_id == collection_id) & (active_calibrations.c.mode == chosen.mode)
    connection.execute(delete(active_calibrations).where(of_mode))
    connection.execute(
        insert(active_calibrations).values(
            collection_id=collection_id, mode=chosen.mode, calibration_id=chosen.id, activated_at=now
        )
    )
