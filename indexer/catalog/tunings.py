"""Reading the calibration and the threshold in force, both from one moment."""

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, select

from indexer.catalog.live import named
from indexer.catalog.repository import Catalog
from indexer.catalog.tables import active_calibrations, calibrations, collections, thresholds
from indexer.tuning import Threshold, Tuning
from models.ops.calibrate import IDENTITY


def read_tuning(catalog: Catalog, name: str, mode: str) -> Tuning:
    """The collection's tuning for a mode. A collection that is not there has none, as one that was never tuned."""
    with catalog.database.snapshot() as connection:
        collection_id = connection.scalar(select(collections.c.id).where(named(name)))
        return Tuning() if collection_id is None else tuning_of(connection, collection_id, mode)


def tuning_of(connection: Connection, collection_id: str, mode: str) -> Tuning:
    """As :func:`read_tuning`, within a transaction that sees one moment, or that has locked the collection."""
    of_mode = (active_calibrations.c.collection_id == collection_id) & (active_calibrations.c.mode == mode)
    active = connection.execute(
        select(calibrations.c.id, calibrations.c.knots).join_from(calibrations, active_calibrations).where(of_mode)
    ).first()
    newest = newest_threshold(connection, collection_id, mode)
    return Tuning(
        threshold=None if newest is None else threshold(newest),
        calibration_id=None if active is None else active.id,
        knots=IDENTITY if active is None else np.array(active.knots, np.float64),
    )


def newest_threshold(connection: Connection, collection_id: str, mode: str) -> Row[*tuple[object, ...]] | None:
    """The last row of a threshold's history."""
    these = thresholds_of(collection_id, mode)
    return connection.execute(select(thresholds).where(these).order_by(thresholds.c.number.desc()).limit(1)).first()


def thresholds_of(collection_id: str, mode: str) -> ColumnElement[bool]:
    """The condition that finds a threshold's history."""
    return (thresholds.c.collection_id == collection_id) & (thresholds.c.mode == mode)


def threshold(row: Row[*tuple[object, ...]]) -> Threshold | None:
    """What a row of the history set; None where it took the threshold away."""
    return None if row.value is None else Threshold(row.value, row.scale, row.raw, row.calibration_id)
