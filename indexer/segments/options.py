"""The place of segments as plain values that travel: every process that reads segments makes its storage of these."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from indexer.disk import require_local
from indexer.segments.local import LocalSegments
from indexer.segments.storage import Segments


@dataclass(frozen=True, slots=True)
class SegmentsOptions:
    """The folder of segments. With a ``url`` they lie in a bucket, and the folder has its cache, of so many bytes.

    ``network`` allows a folder on a network mount.
    """

    folder: Path
    url: str = ""
    cache_bytes: int = 0
    network: bool = False


def make_segments(options: SegmentsOptions) -> Segments:
    """The storage of the segments.

    Raises ``SegmentsUnavailable`` for a URL that names no bucket, and ``InvalidInput`` for a folder on a network mount.
    """
    if not options.network:
        require_local(options.folder)
    if not options.url:
        return LocalSegments(options.folder)
    from indexer.segments.bucket.objects import open_bucket
    from indexer.segments.bucket.segments import BucketSegments

    return BucketSegments(open_bucket(options.url), options.folder, options.cache_bytes)


# The same for all callers of a process.
shared_segments = cache(make_segments)
