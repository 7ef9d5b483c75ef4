"""A front of a cluster that checks each of its answers, in this process or in one of its own, to be killed.

python -m tests.faults.fronts FOLDER ADDRESS
"""

import json
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from indexer.cluster.executor import RayExecutor
from indexer.cluster.peers import Peer
from indexer.engine.executor import ClusterOptions, Executor
from indexer.engine.query import Filter
from indexer.errors import SegmentsUnreachable
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

    def __init__(self, folder: Path, address: str) -> None:
        self.executor = RayExecutor(ClusterOptions(address, deadline_s=2.0))
        self._without = Without()
        self._clustered = _workspace(folder, self.executor)
        self._single = _workspace(folder, self._without)
        self._expected: dict[tuple[int, frozenset[str]], SearchAnswer] = {}
        self._lock = threading.Lock()

    def ask(self, number: int) -> str:
        """Search, and say of what kind the answer is."""
        number %= len(_REQUESTS)
        try:
            answer = _answered(self._clustered, number)
        except SegmentsUnreachable:
            return "refused"
        lacked = frozenset(each.split()[1] for each in answer.degraded or ())
        if replace(answer, degraded=None) != self._expected_of(number, lacked):
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


def _workspace(folder: Path, executor: Executor) -> Workspace:
    return Workspace(folder, executor=executor, words=True)


def fill(folder: Path) -> None:
    """Index the segments that are searched."""
    rng = random.Random(7)
    with _workspace(folder, Executor()) as workspace:
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
            tally.add(front.ask(number))
            number += 1

    clients = [threading.Thread(target=search, args=(number,)) for number in range(_CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        stop.set()
        for client in clients:
            client.join()


def answer_forever(folder: Path, address: str) -> None:
    """A front that says of each of its answers what it was."""
    front = Front(folder, address)
    for number in range(10**9):
        sys.stdout.write(json.dumps(front.ask(number)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    answer_forever(Path(sys.argv[1]), sys.argv[2])
