"""Segments as objects: where their files lie in a bucket, and how they get there."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from indexer.segments.layout import MANIFEST
from spanseek_bucket.objects import Bucket

# Files of a segment that are on their way at once.
AT_ONCE: Final = 8


def path_of(collection_id: str, name: str) -> str:
    """The path of a segment's objects."""
    return f"collections/{collection_id}/{name}"


def upload(bucket: Bucket, folder: Path, collection_id: str, name: str) -> None:
    """Write the files of a segment to a bucket, the manifest last."""
    path = path_of(collection_id, name)
    files = [file for file in folder.iterdir() if file.name != MANIFEST]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        written = [threads.submit(bucket.put, f"{path}/{file.name}", file) for file in files]
    for each in written:
        each.result()
    bucket.put(f"{path}/{MANIFEST}", folder / MANIFEST)
