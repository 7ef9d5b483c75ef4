"""The place of segments as plain values that travel: every process that reads segments makes its storage of these."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from indexer.disk import require_local
from indexer.errors import SegmentsUnavailable
from indexer.segments.local import LocalSegments
from indexer.segments.storage import Segments
from models.entry_points import entry_points_of
from models.errors import ExtraMissing

# The schemes of URLs that the extra bucket opens.
_BUCKETS: Final = ("s3", "gs", "az", "file")


@dataclass(frozen=True, slots=True)
class SegmentsOptions:
    """The folder of segments. With a ``url`` they lie elsewhere, and the folder has their cache, of so many bytes.

    ``network`` allows a folder on a network mount.
    """

    folder: Path
    url: str = ""
    cache_bytes: int = 0
    network: bool = False


def make_segments(options: SegmentsOptions) -> Segments:
    """The storage of the segments. An entry point of the group ``spanseek.segments`` makes it, by the URL's scheme.

    Raises ``SegmentsUnavailable`` for a URL that nothing opens, ``ExtraMissing``, and ``InvalidInput`` for a folder on
    a network mount.
    """
    if not options.network:
        require_local(options.folder)
    if not options.url:
        return LocalSegments(options.folder)
    scheme, points = options.url.partition(":")[0].lower(), entry_points_of("spanseek.segments")
    if scheme in points:
        made: Segments = points[scheme].load()(options)
        return made
    if scheme in _BUCKETS:
        raise ExtraMissing("Segments in a bucket need", "bucket")
    raise SegmentsUnavailable(
        f"Nothing opens the {scheme}: URL of SPANSEEK_SEGMENTS_URL.",
        hint="Write, for example, s3://bucket/prefix or file:///mnt/segments.",
    )


# The same for all callers of a process.
shared_segments = cache(make_segments)
