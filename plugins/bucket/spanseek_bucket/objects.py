"""The objects of a bucket, and its failures as errors of ours. The one place that knows obstore.

Names are paths below the bucket's prefix, such as ``collections/ID/SEGMENT/vectors.i8``. Requests that fail for the
moment are sent again for a while by obstore, and streams that break off by ``Bucket``.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from indexer.errors import SegmentsUnavailable
from indexer.segments.manifest import FileEntry
from models.atomic import fsync

_CHUNK: Final = 2**20
# One request of S3 copies five GB at most.
_COPIED_AT_ONCE: Final = 4 * 2**30
_PAUSES_S: Final = (0.2, 0.4)
# Tells a bucket whose objects are missing from one that is not mounted, or is another.
_SIGN: Final = "spanseek-segments"


class ObjectMissing(Exception):
    """The bucket answers, and has no object of this name. Callers here catch it."""


class _BrokenOff(Exception):
    """The body of an object ended before its end."""


class Bucket:
    """Objects by name. Raises ``SegmentsUnavailable`` where the bucket does not answer. Safe to share between threads.

    >>> from obstore.store import MemoryStore
    >>> bucket = Bucket(MemoryStore(), "memory:")
    >>> bucket.put("collections/a/s1/manifest.json", b"{}")
    >>> bucket.folders("collections/a"), bucket.fetch("collections/a/s1/manifest.json").bytes
    (['s1'], 2)
    """

    def __init__(self, store: ObjectStore, url: str) -> None:
        self._store, self._url = store, url
        # Of a file system, where writing is not yet keeping.
        self._folder = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
        self._is_signed = False

    def put(self, name: str, content: Path | bytes) -> None:
        """Write an object, or write it again: it is there as a whole, or not at all."""
        if not self._is_signed:
            self._put(_SIGN, b"")
            self._is_signed = True
        self._put(name, content)

    def _put(self, name: str, content: Path | bytes) -> None:
        with self._failures_named():
            obstore.put(self._store, name, content)
        if self._folder is not None:
            written = Path(self._folder, name)
            for path in (written, *written.relative_to(self._folder).parents):
                fsync(self._folder / path)

    def fetch(self, name: str, target: Path | None = None) -> FileEntry:
        """Read an object, into a file if one is given; returns its size and checksum. Raises ``ObjectMissing``."""
        for pause_s in _PAUSES_S:
            with suppress(_BrokenOff):
                return self._fetch(name, target)
            time.sleep(pause_s)
        try:
            return self._fetch(name, target)
        except _BrokenOff as error:
            raise self._unavailable(error) from error

    def _fetch(self, name: str, target: Path | None) -> FileEntry:
        size, checksum = 0, hashlib.sha256()
        with target.open("wb") if target else _Nowhere() as file:
            for chunk in self._chunks(name):
                checksum.update(chunk)
                size += file.write(chunk)
        return FileEntry(size, checksum.hexdigest())

    def _chunks(self, name: str) -> Iterator[memoryview]:
        with self._failures_named():
            chunks = iter(obstore.get(self._store, name).stream(min_chunk_size=_CHUNK))
        while True:
            try:
                chunk = next(chunks, None)
            except (BaseError, OSError) as error:
                raise _BrokenOff(str(error)) from error
            if chunk is None:
                return
            yield memoryview(chunk)

    def folders(self, name: str) -> list[str]:
        """The names of what lies directly below, and has objects below it."""
        with self._failures_named():
            listed = obstore.list_with_delimiter(self._store, name)
        return [path.rpartition("/")[2] for path in listed["common_prefixes"]]

    def require(self) -> None:
        """Raise ``SegmentsUnavailable`` for a bucket that was never written to: not mounted, or another one."""
        with self._failures_named():
            obstore.head(self._store, _SIGN)

    def ages(self, name: str) -> dict[str, timedelta]:
        """The objects directly below, and how long ago each was written, by the clocks of both."""
        with self._failures_named():
            listed = obstore.list_with_delimiter(self._store, name)
        return {
            each["path"].rpartition("/")[2]: datetime.now(each["last_modified"].tzinfo) - each["last_modified"]
            for each in listed["objects"]
        }

    def remove(self, name: str) -> None:
        """Remove all objects below a name. Those that others remove meanwhile are no error."""
        while paths := [each["path"] for each in self._below(name)]:
            try:
                with self._failures_named():
                    obstore.delete(self._store, paths)
            except ObjectMissing:
                continue

    def remove_object(self, name: str) -> None:
        """Remove one object, if it is there."""
        try:
            with self._failures_named():
                obstore.delete(self._store, name)
        except ObjectMissing:
            return

    def copy(self, source: str, target: str, *, last: str) -> None:
        """Copy all objects below one name to below another; that whose name ends with ``last`` follows the others."""
        for each in sorted(self._below(source), key=lambda each: str(each["path"]).endswith(last)):
            path, copied = each["path"], target + each["path"].removeprefix(source)
            with self._failures_named():
                if each["size"] <= _COPIED_AT_ONCE:
                    obstore.copy(self._store, path, copied)
                else:
                    obstore.put(self._store, copied, obstore.get(self._store, path).stream())

    def _below(self, name: str) -> list[Any]:
        with self._failures_named():
            return [each for page in obstore.list(self._store, prefix=name) for each in page]

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        if self._is_signed and self._folder is not None and not (self._folder / _SIGN).exists():
            raise self._unavailable("the folder is no longer mounted")  # it would be taken for empty, and made anew
        try:
            yield
        except FileNotFoundError as error:
            self._require_sign(error)
            raise ObjectMissing(str(error)) from error
        except (BaseError, OSError) as error:
            raise self._unavailable(error) from error

    def _require_sign(self, missing: FileNotFoundError) -> None:
        """Raise ``SegmentsUnavailable`` if not only an object is missing, but the whole bucket."""
        try:
            obstore.head(self._store, _SIGN)
        except FileNotFoundError:
            raise self._unavailable("there is no bucket of segments here") from missing
        except (BaseError, OSError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, reason: object) -> SegmentsUnavailable:
        return SegmentsUnavailable(
            f"The segments at {self._url} cannot be reached: {str(reason).partition(chr(10))[0][:200]}.",
            hint="Try again; if it lasts, check SPANSEEK_SEGMENTS_URL, its credentials and the network. "
            "Nothing is lost: what was not published is done again.",
        )


class _Nowhere:
    """A file that discards what is written."""

    def __enter__(self) -> "_Nowhere":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, chunk: memoryview) -> int:
        return len(chunk)


def open_bucket(url: str) -> Bucket:
    """The bucket at a URL: ``s3://BUCKET/PREFIX``, ``gs://``, ``az://``, or ``file:///FOLDER``.

    Credentials, region and endpoint come from the environment, by the names of the provider, such as ``AWS_REGION``.
    Raises ``SegmentsUnavailable`` for a URL that names none.
    """
    of_folder = {"mkdir": True, "automatic_cleanup": True} if url.startswith("file:") else _OF_NETWORK
    try:
        return Bucket(from_url(url, **of_folder), url)
    except (BaseError, OSError, ValueError) as error:
        raise SegmentsUnavailable(
            f"SPANSEEK_SEGMENTS_URL names no bucket: {str(error).partition(chr(10))[0][:200]}.",
            hint="Write, for example, s3://bucket/prefix or file:///mnt/segments.",
        ) from error


# A large object may take long in all, but never be silent for long. An endpoint without TLS is one that was named so.
_OF_NETWORK: Final[dict[str, Any]] = {
    "client_options": {"allow_http": True, "connect_timeout": "5s", "read_timeout": "20s", "timeout": "1h"},
    "retry_config": {
        "max_retries": 4,
        "retry_timeout": timedelta(seconds=30),
        "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2},
    },
}
