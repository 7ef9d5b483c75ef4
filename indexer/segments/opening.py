"""The operator's choice of a place for segments, which travels to other processes."""

from dataclasses import dataclass
from pathlib import Path

from indexer.segments.local import LocalSegments
from indexer.segments.storage import Segments


@dataclass(frozen=True, slots=True)
class SegmentsOptions:
    """The folder of segments, or the bucket at ``url`` and the folder and bytes of its cache. Picklable."""

    folder: Path
    url: str
    cache: Path
    cache_bytes: int

    def open(self) -> Segments:
        """The segments. Raises ``SegmentsUnavailable``."""
        if not self.url:
            return LocalSegments(self.folder)
        from indexer.segments.bucket.objects import open_bucket
        from indexer.segments.bucket.segments import BucketSegments

        return BucketSegments(open_bucket(self.url), self.cache, self.cache_bytes)

    def absolute(self) -> "SegmentsOptions":
        """The same for a process with another working folder."""
        return SegmentsOptions(self.folder.absolute(), self.url, self.cache.absolute(), self.cache_bytes)
