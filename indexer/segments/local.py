"""Segments in folders of this machine, or of a file system that several share."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from indexer.errors import SegmentCorrupt
from indexer.process_folders import is_in_use
from indexer.segments.folders import settle
from indexer.segments.manifest import damages
from indexer.segments.opened import open_segment
from indexer.segments.reader import Segment
from indexer.segments.storage import CollectionFolders
from indexer.types import SegmentInfo, SegmentPlace
from models.atomic import fsync, fsync_tree, make_folder, rename
from models.failpoints import failpoint

_MARKER: Final = "DELETED"

_log = logging.getLogger(__name__)


class LocalSegments:
    """The segments in ``root``, which has a folder for each collection's id with a folder for each segment."""

    elsewhere = ""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.collections: CollectionFolders = LocalCollections(root)

    @contextmanager
    def held(self, collection_id: str, info: SegmentInfo, *, verified: bool = False) -> Iterator[Path]:
        """Yield the segment's folder."""
        folder = self.root / collection_id / info.name
        if verified:
            require_whole(folder, info)
        yield folder

    def open(self, collection_id: str, info: SegmentInfo) -> Segment:
        """The segment, mapped."""
        return open_segment(self.root / collection_id / info.name, info.manifest_sha256)

    def writing(self, folder: Path) -> nullcontext[None]:
        """Do nothing: only a job that holds the collection's lease removes folders."""
        return nullcontext()

    def settle(self, folder: Path) -> str:
        """Rename the folder."""
        return settle(folder).name

    def damages(self, collection_id: str, info: SegmentInfo) -> Iterator[str]:
        """All damage of its files."""
        return damages(self.root / collection_id / info.name, info.manifest_sha256)

    def names(self, collection_id: str) -> frozenset[str]:
        """The folders of the collection, temporary ones included."""
        return frozenset(folder.name for folder in (self.root / collection_id).glob("*/"))

    def stored(self, collection_id: str) -> frozenset[str]:
        """The same folders as :meth:`names`."""
        return self.names(collection_id)

    def remove(self, collection_id: str, name: str) -> None:
        """Remove its folder, if it is there; where that fails, the next sweep tries again."""
        folder = self.root / collection_id / name
        try:
            with suppress(FileNotFoundError), failpoint("remove", folder):
                shutil.rmtree(folder)
        except OSError as error:
            _log.warning("%s is no longer needed and could not be removed: %s", folder, error)

    def adopt(self, names: list[str], source: str, target: str) -> None:
        """Link the files into the folder of the other collection."""
        link_segments(names, self.root / source, self.root / target)

    def refresh(self, named: Callable[[], frozenset[SegmentPlace]] | None = None) -> None:
        """Do nothing: jobs remove what is no longer needed."""


class LocalCollections:
    """A file marks the folder of a collection that is being deleted or restored; it names the process that restores."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def placing(self, segments: Path, id: str, work: Path) -> Iterator[Callable[[], None]]:
        """Mark the folder, move it in the block's last step, and remove the mark."""
        marker = segments / _MARKER
        marker.write_text(f"{work.parent.name}/{work.name}")
        fsync(marker)
        fsync(segments)
        yield lambda: self._move(segments, self._root / id)
        self.unmark(id)

    def mark(self, id: str) -> None:
        """Write the marker."""
        folder = self._root / id
        make_folder(folder)
        (folder / _MARKER).touch()
        fsync(folder)

    def unmark(self, id: str) -> None:
        """Remove the marker."""
        (self._root / id / _MARKER).unlink(missing_ok=True)

    def marked(self) -> list[str]:
        """The folders with a marker."""
        return self._not_restored_now(marker.parent for marker in self._root.glob(f"*/{_MARKER}"))

    def ids(self) -> list[str]:
        """All folders."""
        return self._not_restored_now(self._root.glob("*/"))

    def erase(self, id: str) -> None:
        """Remove the folder, its marker last: what cannot be removed now is swept later."""
        folder = self._root / id
        try:
            for path in folder.iterdir():
                if path.name != _MARKER:
                    with failpoint("remove", path):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
            with failpoint("remove", folder):
                shutil.rmtree(folder)
        except OSError as error:
            _log.warning("the files of a deleted collection were not removed: %s", error)

    def _move(self, segments: Path, final: Path) -> None:
        make_folder(final.parent)
        rename(segments, final)

    def _not_restored_now(self, folders: Iterator[Path]) -> list[str]:
        return [folder.name for folder in folders if not self._is_restored_now(folder)]

    def _is_restored_now(self, folder: Path) -> bool:
        try:
            work = (folder / _MARKER).read_text()
        except FileNotFoundError:
            return False
        return bool(work) and is_in_use(self._root.parent / work)


def require_whole(folder: Path, info: SegmentInfo) -> None:
    """Raise ``SegmentCorrupt`` unless every file of a segment is as its manifest says."""
    for damage in damages(folder, info.manifest_sha256):
        raise SegmentCorrupt(damage, hint="Restore the segment from a backup, or index its documents again.")


def link_segments(names: list[str], source: Path, target: Path) -> None:
    """Link the files of segments into another folder, in place of what is there."""
    make_folder(target)
    for name in names:
        shutil.rmtree(target / name, ignore_errors=True)
        shutil.copytree(source / name, target / name, copy_function=_link)
        fsync_tree(target / name)
    fsync(target)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)
