"""The Protocol of the services that tasks use, so that the services may know tasks."""

from typing import TYPE_CHECKING, Protocol

from indexer.store import Store

if TYPE_CHECKING:
    from app.calibration.service import ThresholdService
    from app.collections.documents import DocumentService
    from app.collections.jobs import CollectionJobs
    from app.collections.recipes import CollectionOptions
    from app.collections.reindexing import Reindexing
    from app.collections.service import CollectionService
    from app.collections.snapshots import SnapshotService
    from app.mining.mining import MiningService


class TaskServices(Protocol):
    """The services that kinds of tasks call, over one store."""

    @property
    def store(self) -> Store:
        """The collections."""

    @property
    def jobs(self) -> "CollectionJobs":
        """Optimizing, purging and matching again."""

    @property
    def documents(self) -> "DocumentService":
        """Writing documents."""

    @property
    def collections(self) -> "CollectionService":
        """Deleting what an unfinished reindexing has built."""

    @property
    def snapshots(self) -> "SnapshotService":
        """Making and restoring snapshots."""

    @property
    def mining(self) -> "MiningService":
        """Mining phrases."""

    @property
    def thresholds(self) -> "ThresholdService":
        """Fitting calibrations."""

    def reindexing(self, name: str, options: "CollectionOptions") -> "Reindexing":
        """A job that brings a collection into another recipe."""
