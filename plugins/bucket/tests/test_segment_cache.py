"""The cache of a bucket: bounded, the least recently used first, and never what anybody uses."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pytest
from obstore.store import MemoryStore

from indexer.segments.folders import new_folder
from indexer.types import SegmentInfo, SegmentPlace
from spanseek_bucket.holds import holds_of
from spanseek_bucket.objects import Bucket
from spanseek_bucket.segments import BucketSegments
from tests.waiting import until
from tests.workspace import Workspace, document

NAMES = ["x", "y", "z"]
HOLD = """
import sys
from pathlib import Path
from spanseek_bucket.holds import holds_of
holds_of(Path(sys.argv[1])).take(sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


class Shelf:
    """Three collections of one segment each, in a bucket, and the cache of a machine that has fetched none."""

    def __init__(self, workspace: Workspace, bucket: Bucket, folder: Path) -> None:
        self.places: dict[str, tuple[str, SegmentInfo]] = {}
        for name in NAMES:
            workspace.index([document(name, f"The collection {name} has some words.")], name=name)
            (live,) = workspace.catalog.live_generation(name).segments
            self.places[name] = workspace.catalog.collection(name).id, live.info
        self.largest = max(info.bytes for _, info in self.places.values())
        self._bucket, self.folder = bucket, folder

    def cache(self, segments: float) -> BucketSegments:
        return BucketSegments(self._bucket, self.folder, round(segments * self.largest))

    def cached(self) -> set[str]:
        paths = {(self.folder / "collections" / id / info.name): name for name, (id, info) in self.places.items()}
        return {name for path, name in paths.items() if path.exists()}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    bucket = Bucket(MemoryStore(), "memory:")
    with Workspace(tmp_path, segments=BucketSegments(bucket, tmp_path / "writer", 2**30)) as workspace:
        yield Shelf(workspace, bucket, tmp_path / "cache")


def test_what_was_used_least_recently_goes_first(shelf: Shelf) -> None:
    segments = shelf.cache(2.5)
    for name, cached in (("x", {"x"}), ("y", {"x", "y"}), ("x", {"x", "y"}), ("z", {"x", "z"}), ("y", {"y", "z"})):
        assert segments.open(*shelf.places[name]).document_id(0) == name
        assert shelf.cached() == cached


def test_what_is_open_stays_and_the_cache_is_larger(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    segments = shelf.cache(1)
    first = segments.open(*shelf.places["x"])
    second = segments.open(*shelf.places["y"])
    assert shelf.cached() == {"x", "y"}
    assert "above its limit" in caplog.text
    assert first.wrong_size() is second.wrong_size() is None
    del first, second
    segments.open(*shelf.places["z"])
    assert shelf.cached() == {"z"}


def test_what_another_process_uses_stays_until_it_ends(shelf: Shelf) -> None:
    segments, name = shelf.cache(1), shelf.places["x"][1].name
    segments.open(*shelf.places["x"])
    command = [sys.executable, "-c", HOLD, str(shelf.folder.absolute()), name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            segments.open(*shelf.places["y"])
            assert shelf.cached() == {"x", "y"}
        finally:
            process.kill()
    segments.open(*shelf.places["z"])
    assert shelf.cached() == {"z"}


def test_what_no_collection_names_is_swept_unless_it_is_being_written(shelf: Shelf) -> None:
    segments = shelf.cache(10)
    for place in shelf.places.values():
        segments.open(*place)
    named = frozenset(SegmentPlace(id, info.name) for name, (id, info) in shelf.places.items() if name != "y")
    written, left = (new_folder(segments.root / shelf.places["x"][0]) for _ in range(2))
    for folder in (written, left):
        folder.mkdir()
    with segments.writing(written):
        segments.refresh(lambda: named)
        assert written.exists()
    assert not left.exists()
    assert shelf.cached() == {"x", "z"}
    segments.refresh(lambda: named)
    assert not written.exists()


def test_threads_read_whole_segments_while_others_evict(shelf: Shelf) -> None:
    segments = shelf.cache(1)
    right = {name: np.array(segments.open(*place).vectors) for name, place in shelf.places.items()}

    def read(seed: int) -> None:
        for name in Random(seed).choices(NAMES, k=30):
            np.testing.assert_array_equal(segments.open(*shelf.places[name]).vectors, right[name])

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(4))) == [None] * 4
    named = frozenset(SegmentPlace(id, info.name) for id, info in shelf.places.values())

    def one_is_left() -> bool:  # those that are verified in the background are open a moment longer
        segments.refresh(lambda: named)
        return len(shelf.cached()) <= 1

    until(one_is_left)


def test_a_name_that_is_held_twice_is_released_twice(tmp_path: Path) -> None:
    holds = holds_of(tmp_path)
    assert holds is holds_of(tmp_path)
    with holds.held("a"), holds.held("b"):
        with holds.held("a"):
            pass
        with holds.alone("a") as alone:
            assert not alone
    with holds.alone("a") as alone:
        assert alone
