"""Segments in a bucket: written beside the cache, uploaded before they are published, fetched where they are read."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from indexer.disk import full_disk_named
from indexer.errors import SegmentCorrupt
from indexer.segments.folders import final_name, is_temporary, settle
from indexer.segments.layout import MANIFEST
from indexer.segments.local import link_segments
from indexer.segments.manifest import FileEntry, Manifest, SegmentKey, damages, read_manifest
from indexer.segments.opened import damage_of, forget_segment, isolate, open_segment
from indexer.segments.options import SegmentsOptions
from indexer.segments.reader import Segment
from indexer.segments.storage import CollectionFolders
from indexer.types import SegmentInfo, SegmentPlace
from spanseek_bucket.cache import SegmentCache
from spanseek_bucket.collections import BucketCollections
from spanseek_bucket.objects import Bucket, ObjectMissing, open_bucket
from spanseek_bucket.upload import AT_ONCE, path_of, upload

# Seconds until a segment that was damaged in the bucket is fetched again.
AGAIN_S: Final = 60.0
_HINT: Final = "Restore the object from a backup, or index the documents of the segment again."

_log = logging.getLogger(__name__)


class BucketSegments:
    """The objects ``collections/ID/SEGMENT/FILE`` of a bucket; ``folder`` has the cache, of ``limit`` bytes at most.

    A segment is fetched once. Every file is compared with its checksum in the manifest, and the manifest with its
    checksum in the catalog. A cached segment that is damaged on the disk is fetched again. All methods raise
    ``SegmentsUnavailable`` if the bucket does not answer.
    """

    elsewhere = (
        "caches of other machines (SPANSEEK_SEGMENTS_CACHE), and fetches under way, may hold them until a server there "
        "has looked at the catalog, five seconds at most, or starts again; those of a cluster's nodes until its actors "
        "have looked at the bucket, which they do every ten seconds while a server runs"
    )

    def __init__(self, bucket: Bucket, folder: Path, limit: int) -> None:
        self._bucket = bucket
        self._cache = SegmentCache(folder, limit)
        self._unfetched: dict[SegmentKey, SegmentCorrupt] = {}
        self.root = self._cache.root
        self.collections: CollectionFolders = BucketCollections(bucket, self.root)

    @contextmanager
    def held(self, collection_id: str, info: SegmentInfo, *, verified: bool = False) -> Iterator[Path]:
        """Fetch the segment if it is not cached, and yield its folder in the cache."""
        key = self._key(collection_id, info)
        with self._cache.held(key.folder):
            self._fetch(key, info.bytes)
            if verified:
                self._mend(key)
                self._fetch(key, info.bytes)
            yield key.folder

    def open(self, collection_id: str, info: SegmentInfo) -> Segment:
        """The segment, mapped from the cache."""
        key = self._key(collection_id, info)
        with self._cache.held(key.folder):
            self._fetch(key, info.bytes)
            try:
                return self._cache.keep(open_segment(*key))
            except SegmentCorrupt:
                if not self._mend(key):
                    raise
            self._fetch(key, info.bytes)
            return self._cache.keep(open_segment(*key))

    def writing(self, folder: Path) -> AbstractContextManager[object]:
        """Keep the new segment's folder in the cache."""
        return self._cache.held(folder)

    def settle(self, folder: Path) -> str:
        """Upload the files, rename the folder, and keep it in the cache."""
        name = final_name(folder).name
        upload(self._bucket, folder, folder.parent.name, name)
        settle(folder)
        self._cache.make_room(0)
        return name

    def damages(self, collection_id: str, info: SegmentInfo) -> Iterator[str]:
        """All damage of the segment's objects, which are all read; a damaged copy in the cache is removed."""
        key = self._key(collection_id, info)
        with self._cache.held(key.folder):
            if key.folder.exists():
                self._mend(key)
        with TemporaryDirectory(prefix="spanseek-") as temporary:
            work = Path(temporary) / info.name
            work.mkdir()
            try:
                manifest = self._fetch_manifest(key, work)
            except SegmentCorrupt as error:
                yield str(error)
                return
        for name, entry in manifest.files.items():
            try:
                self._fetch_file(key, name, None, entry.__eq__)
            except SegmentCorrupt as error:
                yield str(error)

    def names(self, collection_id: str) -> frozenset[str]:
        """The collection's segments in the bucket and in the cache of this machine, temporary folders included."""
        cached = (folder.name for folder in (self.root / collection_id).glob("*/"))
        return frozenset((*cached, *self._bucket.folders(f"collections/{collection_id}")))

    def stored(self, collection_id: str) -> frozenset[str]:
        """The collection's segments in the bucket."""
        names = self._bucket.folders(f"collections/{collection_id}")
        if not names:
            self._bucket.require()
        return frozenset(names)

    def remove(self, collection_id: str, name: str) -> None:
        """Remove the segment from the cache of this machine and from the bucket."""
        self._cache.remove(self.root / collection_id / name)
        if not is_temporary(name):
            self._bucket.remove(path_of(collection_id, name))

    def adopt(self, names: list[str], source: str, target: str) -> None:
        """Copy the objects within the bucket."""
        for name in names:
            self._bucket.copy(path_of(source, name), path_of(target, name), last=MANIFEST)
            cached = self.root / source / name
            with self._cache.held(cached):
                link_segments([name] if cached.exists() else [], cached.parent, self.root / target)

    def refresh(self, named: Callable[[], frozenset[SegmentPlace]] | None = None) -> None:
        """Remove from the cache the segments that no collection names, and forget their damage."""
        named = named or self._stored_places
        self._cache.sweep(named)
        self._cache.make_room(0)
        names = named() if self._unfetched else frozenset()
        for key in list(self._unfetched):
            if SegmentPlace(key.folder.parent.name, key.folder.name) not in names:
                forget_segment(key)
                del self._unfetched[key]

    def _stored_places(self) -> frozenset[SegmentPlace]:
        """The segments in the bucket of every collection that is in the cache or has a damaged segment."""
        ids = {folder.name for folder in self.root.glob("*/")} | {key.folder.parent.name for key in self._unfetched}
        return frozenset(SegmentPlace(id, name) for id in ids for name in self.stored(id))

    def _key(self, collection_id: str, info: SegmentInfo) -> SegmentKey:
        return SegmentKey(self.root / collection_id / info.name, info.manifest_sha256)

    def _mend(self, key: SegmentKey) -> bool:
        """Remove a cached copy that is damaged; True if it was."""
        damage = next(damages(*key), None)
        if damage is not None:
            _log.warning("the cached copy of a segment is fetched again: %s", damage)
            forget_segment(key)
            self._cache.remove(key.folder)
        return damage is not None

    def _fetch(self, key: SegmentKey, size: int) -> None:
        """Bring a held segment into the cache. After ``SegmentCorrupt``, it is not tried again for ``AGAIN_S``."""
        if key.folder.exists():
            return
        error = self._unfetched.get(key)
        if error is not None and error is damage_of(key):
            raise error
        forget_segment(key)  # its files were there, and somebody removed them
        with full_disk_named(), self._cache.filling(key.folder) as work:
            if work is None:
                return
            self._cache.make_room(size)
            try:
                self._fetch_files(key, work)
            except SegmentCorrupt as error:
                isolate(key, error, AGAIN_S)
                self._unfetched[key] = error
                raise
        self._unfetched.pop(key, None)

    def _fetch_files(self, key: SegmentKey, work: Path) -> None:
        files = self._fetch_manifest(key, work).files
        with ThreadPoolExecutor(AT_ONCE) as threads:
            fetched = [
                threads.submit(self._fetch_file, key, name, work / name, entry.__eq__) for name, entry in files.items()
            ]
        for each in fetched:
            each.result()

    def _fetch_manifest(self, key: SegmentKey, work: Path) -> Manifest:
        self._fetch_file(key, MANIFEST, work / MANIFEST, lambda found: found.sha256 == key.manifest_sha256)
        return read_manifest(work, key.manifest_sha256)

    def _fetch_file(
        self, key: SegmentKey, name: str, target: Path | None, is_right: Callable[[FileEntry], bool]
    ) -> None:
        """Fetch a file of a segment, and a wrong one a second time: it may have been damaged in transit."""
        folder = key.folder
        try:
            for _ in range(2):
                if is_right(self._bucket.fetch(f"{path_of(folder.parent.name, folder.name)}/{name}", target)):
                    return
        except ObjectMissing as error:
            raise SegmentCorrupt(f"{folder.name}: {name} is missing in the bucket.", hint=_HINT) from error
        fault = "is damaged in the bucket: its size or SHA-256 is not the one that was published"
        raise SegmentCorrupt(f"{folder.name}: {name} {fault}.", hint=_HINT)


def open_segments(options: SegmentsOptions) -> BucketSegments:
    """The segments of a bucket at the URL of the options. Raises ``SegmentsUnavailable`` for a URL that names none."""
    return BucketSegments(open_bucket(options.url), options.folder, options.cache_bytes)
