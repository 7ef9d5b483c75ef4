"""The place of segments as plain values that travel: every process that reads segments makes its storage of these."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from indexer.disk import require_local
from indexer.errors import SegmentsUnavailable
from indexer.segments.local import LocalSegments
from indexer.segments.storage import Segments

_GROUP: Final = "spanseek.segments"


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
    """The storage of the segments: a folder, or what the URL's scheme names in the entry points ``spanseek.segments``.

    Raises ``SegmentsUnavailable`` where that opens nothing, and ``InvalidInput`` for a folder on a network mount.
    """
    if not options.network:
        require_local(options.folder)
    if not options.url:
        return LocalSegments(options.folder)
    scheme = options.url.partition(":")[0]
    for point in entry_points(group=_GROUP, name=scheme):
        made: Segments = point.load()(options)
        return made
    raise SegmentsUnavailable(
        f"Nothing that is installed opens the {scheme}: URL of SPANSEEK_SEGMENTS_URL.",
        hint="Install buckets with `pip install 'spanseek[bucket]'`, or leave SPANSEEK_SEGMENTS_URL empty.",
    )


# The same for all callers of a process.
shared_segments = cache(make_segments)
