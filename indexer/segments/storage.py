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
        """Bring a folder of segments to its place as a new collection, while the block commits the collection's rows.

        Yields a function: the last step, which the block calls before it commits. ``work`` is the folder of this
        process: as long as the process runs, no other job treats the segments as left behind by a crash.
        """
        ...

    def mark(self, id: str) -> None:
        """Mark a collection that is about to be deleted, so that files that a crash leaves are removed later."""
        ...

    def unmark(self, id: str) -> None:
        """Remove the marks of a collection that exists."""
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
    """The segments of collections. A new one is written to its collection's folder below ``root``, and then settled.

    There are two implementations: ``LocalSegments`` keeps all segments in ``root``; for ``BucketSegments``, ``root`` is
    the cache of a bucket.
    """

    root: Path
    collections: CollectionFolders
    # Where else the documents of a purged segment may remain, and until when; empty: nowhere.
    elsewhere: str

    def held(self, collection_id: str, info: SegmentInfo, *, verified: bool = False) -> AbstractContextManager[Path]:
        """Yield the folder with the files of a published segment, which stay while the block runs.

        With ``verified``, all files have been compared with their checksums. Raises ``SegmentCorrupt`` for damage.
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
        """The segments in ``names`` that other machines can read, too."""
        ...

    def remove(self, collection_id: str, name: str) -> None:
        """Remove the files of a segment that the catalog does not name. Open readers are not disturbed."""
        ...

    def adopt(self, names: list[str], source: str, target: str) -> None:
        """Give segments of one collection to another one, too. A crash leaves them to the next job."""
        ...

    def refresh(self, named: Callable[[], frozenset[SegmentPlace]] | None = None) -> None:
        """Release what this machine holds of segments not in ``named``; by default, of those not ``stored``."""
        ...
