"""Reading the calibration and the threshold in force, both from one moment."""

import numpy as np
from sqlalchemy import Connection, select

from indexer.catalog.histories import History
from indexer.catalog.live import named
from indexer.catalog.repository import Catalog
from indexer.catalog.tables import active_calibrations, calibrations, collections, thresholds
from indexer.tuning import Tuning
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
    return Tuning(
        threshold=threshold_of(collection_id, mode).now(connection),
        calibration_id=None if active is None else active.id,
        knots=IDENTITY if active is None else np.array(active.knots, np.float64),
    )


def threshold_of(collection_id: str, mode: str) -> History:
    """The history of a collection's threshold."""
    return History(thresholds, {"collection_id": collection_id, "mode": mode})
