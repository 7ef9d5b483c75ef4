"""Snapshots of collections: made, listed, restored and deleted. They outlive their collections."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Self

from app.answers import described
from app.services import Services
from indexer.archives.archive import ArchiveInfo, OnBytes, read_info, remove_archive
from indexer.archives.create import create_archive
from indexer.archives.restore import restore_archive
from indexer.catalog.names import checked_collection_name, is_collection_name
from indexer.catalog.tasks import new_task_id
from indexer.errors import CollectionNotFound, SnapshotInvalid, SnapshotNotFound
from indexer.store import Store
from indexer.types import Collection
from models.atomic import PARTIAL_FILES
from models.encoders.registry import is_configured

_ID: Final = re.compile(r"[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class SnapshotDescription:
    """A snapshot of a collection."""

    id: Annotated[str, described("Names the snapshot among the collection's.")]
    collection: Annotated[str, described("The collection that it was made of.")]
    encoder: str
    documents: int
    units: int
    generation: Annotated[int, described("The generation of the collection that it holds.")]
    bytes: Annotated[int, described("The size of its file.")]
    created_at: datetime

    @classmethod
    def of(cls, path: Path, info: ArchiveInfo) -> "SnapshotDescription":
        """A snapshot's file as an answer."""
        return cls(
            id=path.stem,
            collection=info.collection,
            encoder=info.encoder,
            documents=info.documents,
            units=info.units,
            generation=info.generation,
            bytes=path.stat().st_size,
            created_at=datetime.fromisoformat(info.created_at),
        )


@dataclass(frozen=True, slots=True)
class SnapshotList:
    """The snapshots of a collection, the newest first."""

    snapshots: tuple[SnapshotDescription, ...]


def _none(done: int, total: int) -> None:
    pass


class SnapshotService:
    """The snapshots of one store, in its data folder under ``snapshots``.

    ``is_configured`` says which encoders a restored recipe may name.
    """

    def __init__(self, store: Store, is_configured: Callable[[str], bool] = is_configured) -> None:
        self._store, self._is_configured = store, is_configured

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.encoders.is_configured)

    def create(
        self, collection: str, path: Path | None = None, *, id: str | None = None, progress: OnBytes = _none
    ) -> SnapshotDescription:
        """Make a snapshot, in the data folder unless a path is given. Raises ``CollectionNotFound``."""
        name = self._store.catalog.collection(collection).name
        path = path or self._new_path(name, id or new_task_id())
        return SnapshotDescription.of(path, create_archive(self._store, name, path, progress))

    def list(self, collection: str) -> SnapshotList:
        """The snapshots of a collection, which may be deleted by now. Raises ``CollectionNotFound`` if it left none."""
        folder = self._folder(self._own_name(collection))
        found = []
        for path in sorted(folder.glob("*.tar"), reverse=True):
            try:
                found.append(SnapshotDescription.of(path, read_info(path)))
            except (SnapshotInvalid, FileNotFoundError):  # `verify` says more; or it was deleted meanwhile
                continue
        if not found:
            self._store.catalog.collection(collection)
        return SnapshotList(tuple(found))

    def path(self, collection: str, id: str) -> Path:
        """The file of a snapshot. Raises ``SnapshotNotFound``."""
        path = self._folder(self._own_name(collection)) / f"{id}.tar"
        if not _ID.fullmatch(id) or not path.is_file():
            raise SnapshotNotFound(
                f"The collection {collection!r} has no snapshot {id[:80]!r}", hint="List its snapshots.", field="id"
            )
        return path

    def get(self, collection: str, id: str) -> SnapshotDescription:
        """One snapshot. Raises ``SnapshotNotFound`` and ``SnapshotInvalid``."""
        path = self.path(collection, id)
        return SnapshotDescription.of(path, read_info(path))

    def delete(self, collection: str, id: str) -> None:
        """Delete a snapshot. Raises ``SnapshotNotFound``."""
        remove_archive(self.path(collection, id))

    def restore(self, path: Path, name: str | None = None, progress: OnBytes = _none) -> Collection:
        """Restore a snapshot as a new collection. Raises ``SnapshotInvalid`` and ``CollectionExists``."""
        return restore_archive(self._store, path, name, progress, self._is_configured)

    def _own_name(self, collection: str) -> str:
        try:
            return self._store.catalog.own_name(collection)
        except CollectionNotFound:
            if not is_collection_name(collection):
                raise
            return collection

    def _new_path(self, collection: str, id: str) -> Path:
        """The file of a new snapshot, without what a run of the same task that was killed has left of it."""
        folder = self._folder(collection)
        for left in folder.glob(f"{id}.tar{PARTIAL_FILES}"):
            left.unlink(missing_ok=True)
        return folder / f"{id}.tar"

    def _folder(self, name: str) -> Path:
        return self._store.data_dir / "snapshots" / checked_collection_name(name)
