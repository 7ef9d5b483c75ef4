"""A front of a cluster that checks each of its answers, in this process or in one of its own, to be killed.

python -m plugins.ray.tests.fronts ADDRESS FOLDER [CATALOG [BUCKET]]
"""

import json
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from indexer.engine.executor import Executor
from indexer.engine.query import Filter
from indexer.errors import CatalogUnavailable, CollectionBusy, LeaseLost, SegmentsUnavailable, SegmentsUnreachable
from indexer.segments.options import SegmentsOptions
from models.types import Document
from spanseek_ray.executor import RayExecutor
from spanseek_ray.peers import Peer
from spanseek_ray.settings import ClusterOptions
from spanseek_ray.shipment import Shipment
from tests.buckets import bucket_segments
from tests.executors import Without
from tests.workspace import Workspace, document

_SEGMENTS: Final = 8
_CLIENTS: Final = 2
_WORDS: Final = ["the", "parcel", "never", "came", "to", "my", "door", "please", "cancel", "invoice", "slow", "again"]
_REQUESTS: Final[list[dict[str, Any]]] = [
    {"text": "the parcel never came"},
    {"text": "cancel", "filter": Filter({"lang": "en"}), "total": True},
    {"text": "slow invoice again", "mode": "lexical"},
    {"text": "please cancel", "mode": "hybrid", "top_k": 50},
]


# What a caller is told to send again.
_PASSING: Final = (CatalogUnavailable, SegmentsUnavailable, SegmentsUnreachable, CollectionBusy, LeaseLost)
_CACHE_BYTES: Final = 2**30
# Until a client that was refused asks again.
_REFUSED_S: Final = 0.1


@dataclass(frozen=True)
class Site:
    """Where segments and the catalog lie: a folder, and, if they are named, a bucket and a database elsewhere."""

    folder: Path
    catalog: str = ""
    bucket: str = ""

    @property
    def node_cache(self) -> Path:
        """The cache of a bucket that all nodes of this machine share; fronts have another one."""
        return self.folder / "nodes"

    def executor(self, address: str) -> RayExecutor:
        """What searches it by a cluster."""
        options = ClusterOptions(address, deadline_s=2.0)
        if not self.bucket:
            return RayExecutor(options)
        where = SegmentsOptions(self.node_cache, self.bucket, _CACHE_BYTES)
        return RayExecutor(options, partial(Shipment.of, where=where))

    def workspace(self, executor: Executor) -> Workspace:
        """A process that reads and writes it."""
        segments = bucket_segments(self.bucket, self.folder / "fronts", _CACHE_BYTES) if self.bucket else None
        return Workspace(self.folder, executor=executor, words=True, segments=segments, catalog_url=self.catalog)


@dataclass
class Tally:
    """How many searches were answered how. ``wrong`` ones are not what they say they are, ``refused`` ones got 503."""

    whole: int = 0
    degraded: int = 0
    refused: int = 0
    wrong: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, kind: str) -> None:
        with self.lock:
            setattr(self, kind, getattr(self, kind) + 1)

    @property
    def searches(self) -> int:
        return self.whole + self.degraded + self.refused + self.wrong


class Front:
    """What searches a store by a cluster, and knows what one process would answer."""

    def __init__(self, site: Site, address: str) -> None:
        self.executor = site.executor(address)
        self._without = Without()
        self._clustered = site.workspace(self.executor)
        self._single = site.workspace(self._without)
        self._expected: dict[tuple[int, frozenset[str]], SearchAnswer] = {}
        self._lock = threading.Lock()

    def ask(self, number: int) -> str:
        """Search, and say of what kind the answer is."""
        number %= len(_REQUESTS)
        try:
            answer = _answered(self._clustered, number)
            lacked = frozenset(each.split()[1] for each in answer.degraded or ())
            expected = self._expected_of(number, lacked)
        except _PASSING:
            return "refused"
        if replace(answer, degraded=None) != expected:
            return "wrong"
        return "degraded" if lacked else "whole"

    def is_whole(self) -> bool:
        return all(self.ask(number) == "whole" for number in range(len(_REQUESTS)))

    @property
    def peers(self) -> list[Peer]:
        return list(self.executor._peers)

    def _expected_of(self, number: int, lacked: frozenset[str]) -> SearchAnswer:
        with self._lock:
            if (number, lacked) not in self._expected:
                self._without.lack(lacked)
                self._expected[number, lacked] = replace(_answered(self._single, number), degraded=None)
            return self._expected[number, lacked]


def _answered(workspace: Workspace, number: int) -> SearchAnswer:
    (answer,) = workspace.service.search(SearchRequest("c", **_REQUESTS[number]))
    return replace(answer, took_ms=0.0)


class Writer:
    """Writes a document after the other to a collection beside the one that is searched, each until it is taken."""

    COLLECTION: Final = "written"

    def __init__(self, site: Site) -> None:
        self._site = site
        self.acknowledged, self.refused, self.wrong = 0, 0, 0
        # Of the last document.
        self.at = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write while the block runs."""
        stop = threading.Event()
        with self._site.workspace(Executor()) as workspace:

            def write() -> None:
                while not stop.wait(0.05):
                    try:
                        workspace.index([_written(self.acknowledged)], name=self.COLLECTION)
                    except _PASSING:
                        self.refused += 1
                    except Exception:  # noqa: BLE001  none of the errors that are promised
                        traceback.print_exc()
                        self.wrong += 1
                    else:
                        self.acknowledged, self.at = self.acknowledged + 1, time.monotonic()

            writing = threading.Thread(target=write)
            writing.start()
            try:
                yield
            finally:
                stop.set()
                writing.join()

    def lost(self) -> list[int]:
        """The numbers of documents that are not there exactly once."""
        with self._site.workspace(Executor()) as workspace:
            views = workspace.store.snapshot(self.COLLECTION).views
            there = Counter(view.segment.document_id(row) for view in views for row in view.live_documents.nonzero()[0])
        wanted = Counter(_written(number).id for number in range(self.acknowledged))
        wanted += there & Counter([_written(self.acknowledged).id])  # it may be there, without an answer
        return sorted(int(id) for id in (wanted - there) + (there - wanted))


def _written(number: int) -> Document:
    return document(str(number), "The parcel never came.")


def fill(site: Site) -> None:
    """Index the segments that are searched."""
    rng = random.Random(7)
    with site.workspace(Executor()) as workspace:
        for segment in range(_SEGMENTS):
            texts = (" ".join(rng.choices(_WORDS, k=40)) + "." for _ in range(20))
            documents = [
                document(f"{segment}-{number}", text, lang=rng.choice(["en", "fr"]))
                for number, text in enumerate(texts)
            ]
            workspace.index(documents, merge=False)


@contextmanager
def searched(front: Front, tally: Tally) -> Iterator[None]:
    """Have clients search while the block runs."""
    stop = threading.Event()

    def search(number: int) -> None:
        while not stop.is_set():
            try:
                kind = front.ask(number)
            except Exception:  # noqa: BLE001  none of the errors that are promised
                traceback.print_exc()
                kind = "wrong"
            tally.add(kind)
            number += 1
            if kind == "refused":
                time.sleep(_REFUSED_S)

    clients = [threading.Thread(target=search, args=(number,)) for number in range(_CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        stop.set()
        for client in clients:
            client.join()


def answer_forever(address: str, site: Site) -> None:
    """A front that says of each of its answers what it was."""
    front = Front(site, address)
    for number in range(10**9):
        sys.stdout.write(json.dumps(front.ask(number)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    answer_forever(sys.argv[1], Site(Path(sys.argv[2]), *sys.argv[3:]))
