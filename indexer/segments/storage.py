"""The place of collections' segments: the seam between those who read and write them and folders or buckets."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from indexer.segments.reader import Segment
from indexer.types import SegmentInfo, SegmentPlace


@runtime_checkable
class CollectionFolders(Protocol):
    """The segments of whole collections: deleted, restored, left behind by a crash."""

    def placing(self, segments: Path, id: str, work: Path) -> AbstractContextManager[Callable[[], None]]:
        """Bring a folder of segments to its place as the collection of an id, while the block commits its rows.

        What the block gets is the last step before the commit. ``work`` is the folder of this process: as long as it
        runs, nobody takes the segments for those of no collection.
        """
        ...

    def mark(self, id: str) -> None:
        """Mark a collection that is about to be deleted, so that a crash leaves nothing for good."""
        ...

    def unmark(self, id: str) -> None:
        """Remove the marks of a collection that is there."""
        ...

    def marked(self) -> list[str]:
        """The marked collections, less those that a process is restoring now."""
        ...

    def ids(self) -> list[str]:
        """All collections of which there are files, less those that a process is restoring now."""
        ...

    def erase(self, id: str) -> None:
        """Remove all files of a collection, its mark last. What cannot be removed now is logged, and stays marked."""
        ...


@runtime_checkable
class Segments(Protocol):
    """The segments of collections. One is written below ``root``, in the folder of its collection's id, and settled.

    Two implementations: ``LocalSegments`` keeps all in ``root``; of ``BucketSegments`` that is the cache of a bucket.
    """

    root: Path
    collections: CollectionFolders
    # Where else the documents of a purged segment may remain, and until when; empty: nowhere.
    elsewhere: str

    def held(self, collection_id: str, info: SegmentInfo, *, verified: bool = False) -> AbstractContextManager[Path]:
        """The folder with the files of a published segment, which stay while the block runs.

        With ``verified`` all of them have been compared with their checksums; raises ``SegmentCorrupt`` for damage.
        """
        ...

    def open(self, collection_id: str, info: SegmentInfo) -> Segment:
        """Open a published segment, or share the one that is open. Raises ``SegmentCorrupt``."""
        ...

    def writing(self, folder: Path) -> AbstractContextManager[object]:
        """Keep the folder of a new segment, whatever its name, while the block writes and publishes it."""
        ...

    def settle(self, folder: Path) -> str:
        """Give a new segment that is whole its final name, for all who will read it; returns the name."""
        ...

    def damages(self, collection_id: str, info: SegmentInfo) -> Iterator[str]:
        """All damage of a published segment's files, one sentence each."""
        ...

    def names(self, collection_id: str) -> frozenset[str]:
        """The segments of which there are files, published or not."""
        ...

    def stored(self, collection_id: str) -> frozenset[str]:
        """Those of ``names`` that other machines see, too."""
        ...

    def remove(self, collection_id: str, name: str) -> None:
        """Remove the files of a segment that the catalog does not name. Open readers are not disturbed."""
        ...

    def adopt(self, names: list[str], source: str, target: str) -> None:
        """Give segments of one collection to another one, too. A crash leaves them to the next job."""
        ...

    def refresh(self, named: Callable[[], frozenset[SegmentPlace]] | None = None) -> None:
        """Give up what this machine holds of segments that are ``named`` no longer; by default, not ``stored``."""
        ...
