"""Load that a server cannot bear, and mixed load for as long as one likes: what it admits is quick, and nothing grows.

    python -m tests.faults.soak overload --seconds 300
    python -m tests.faults.soak soak --seconds 7200

``overload`` measures what the server bears, and sends ten times as many searches: those beyond are answered 429 with
``Retry-After``, and few of the others are overtaken by more answers than wait in full queues. ``soak`` searches,
writes, uploads, reindexes and verifies in turns: memory and descriptors at the end are those of the first quarter after
everything was done once. Both end with an error otherwise.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import psutil

from app.services import open_store
from app.settings import Settings
from indexer.catalog.schema import upgrade
from indexer.indexing.verification import verify_store
from tests.serving import running

_DOCUMENTS: Final = 2_000
# Requests that one client after the other is waited for to learn what the server bears.
_FEW: Final = 4
_OVERLOAD: Final = 10
_QUEUE: Final = 32
# Growth that is none: of memory, as a share and in bytes, and of descriptors.
_GROWTH, _GROWTH_BYTES, _DESCRIPTORS = 1.2, 64 * 2**20, 20
# Answers that may come before one that was admitted, in lengths of a queue: a search waits in one after the other, and
# clients of the same machine hear of answers in any order.
_SLACK: Final = 10
# Looks at a server's memory; jobs of all kinds, which come before the first look.
_LOOKS, _JOBS = 8, 3


class Missed(Exception):
    """The server did not keep what is promised."""


@dataclass
class Answers:
    """The statuses of answers; of those that were admitted, the seconds and how many came since they were asked for."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    overtaken: list[int] = field(default_factory=list)
    unhinted: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, client: httpx.Client, number: int) -> None:
        """Search, and note the answer."""
        began, before = time.monotonic(), len(self.seconds)
        answer = search(client, number)
        with self.lock:
            self.statuses[answer.status_code] += 1
            self.unhinted += answer.status_code == 429 and "retry-after" not in answer.headers
            if answer.status_code == 200:
                self.overtaken.append(len(self.seconds) - before)
                self.seconds.append(time.monotonic() - began)

    def p99(self) -> float:
        return float(np.percentile(self.seconds, 99)) if self.seconds else 0.0


@dataclass
class Use:
    """Memory and descriptors of a server, second by second."""

    process: psutil.Process
    memory: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    def look(self) -> None:
        self.memory.append(self.process.memory_info().rss)
        self.descriptors.append(self.process.num_fds())

    def check(self) -> None:
        """Raise ``Missed`` if the last quarter has more than the second."""
        quarter = max(len(self.memory) // 4, 1)
        before, after = (max(self.memory[part]) for part in (slice(quarter, 2 * quarter), slice(-quarter, None)))
        if after > max(before * _GROWTH, before + _GROWTH_BYTES):
            raise Missed(f"memory grew from {before:,} to {after:,} bytes")
        before, after = (max(self.descriptors[part]) for part in (slice(quarter, 2 * quarter), slice(-quarter, None)))
        if after > before + _DESCRIPTORS:
            raise Missed(f"descriptors grew from {before} to {after}")


def document(number: int, version: int = 0) -> dict[str, Any]:
    return {
        "id": f"d{number}",
        "text": f"Ticket {number}.{version}: the parcel is late, and router {number % 97} slow.",
    }


@contextmanager
def serving(**changes: object) -> Iterator[tuple[Settings, "subprocess.Popen[str]", httpx.Client]]:
    """A server with some thousand documents."""
    with tempfile.TemporaryDirectory(prefix="spanseek-soak-") as folder:
        settings = Settings(_env_file=None, data_dir=Path(folder), encoder="hashing", database_url="")
        upgrade(settings.catalog_url)
        with running(settings, grace_s=1, **changes) as (process, client):
            for first in range(0, _DOCUMENTS, 500):
                made = client.put("/collections/c") and client.post(
                    "/collections/c/documents", json=[document(n) for n in range(first, first + 500)]
                )
                made.raise_for_status()
            yield settings, process, client


def search(client: httpx.Client, number: int) -> httpx.Response:
    return client.post("/search", json={"collection": "c", "text": f"router {number} is slow", "mode": "hybrid"})


def load(client: httpx.Client, clients: int, seconds: float, use: Use | None = None) -> Answers:
    """Searches of so many clients, each of which asks again as soon as it is answered."""
    answers, end = Answers(), time.monotonic() + seconds

    def ask(number: int) -> None:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            for turn in itertools.count(number):
                if time.monotonic() > end:
                    return
                answers.ask(own, turn)

    with ThreadPoolExecutor(clients) as pool:
        asked = [pool.submit(ask, number) for number in range(clients)]
        while use is not None and time.monotonic() < end:
            use.look()
            time.sleep(1)
        for each in asked:
            each.result()
    return answers


def overload(seconds: float) -> dict[str, Any]:
    """Send ten times what the server bears; returns figures, and raises ``Missed``."""
    with serving(queue_limit=_QUEUE) as (_, process, client):
        borne = load(client, _FEW, max(seconds / 10, 5.0))
        use = Use(psutil.Process(process.pid))
        much = load(client, _QUEUE + _OVERLOAD * _FEW, seconds, use)
        if set(much.statuses) - {200, 429}:
            raise Missed(f"answers had the statuses {dict(much.statuses)}")
        if much.unhinted or not much.statuses[429]:
            raise Missed(f"{much.unhinted} of {much.statuses[429]} answers 429 had no Retry-After")
        overtaken = float(np.percentile(much.overtaken, 99))
        if overtaken > _SLACK * _QUEUE:
            raise Missed(f"1 % of the admitted were overtaken by more than {overtaken:g} answers; a queue has {_QUEUE}")
        use.check()
    return {
        "clients": _QUEUE + _OVERLOAD * _FEW,
        "statuses": dict(much.statuses),
        "p99_s": round(much.p99(), 3),
        "p99_s_of_few": round(borne.p99(), 3),
        "p99_overtaken_by": overtaken,
        "most_megabytes": max(use.memory) // 2**20,
        "most_descriptors": max(use.descriptors),
    }


def soak(seconds: float) -> dict[str, Any]:
    """Mixed load; returns figures, and raises ``Missed``."""
    done = Counter[str]()

    def repeated(name: str, work: Callable[[httpx.Client, int], httpx.Response]) -> None:
        for turn in itertools.count():
            if ended.is_set():
                return
            answer = work(client, turn)
            if answer.status_code >= 500:
                raise Missed(f"{name}: {answer.status_code} {answer.text}")
            done[name] += 1

    with serving(lease_wait_s=60) as (settings, process, client):
        use, ended, end = Use(psutil.Process(process.pid)), threading.Event(), time.monotonic() + seconds
        works = {"search": search, "write": write, "delete": delete, "upload": upload, "job": job}
        with ThreadPoolExecutor(len(works)) as pool:
            running_works = [pool.submit(repeated, name, work) for name, work in works.items()]
            # A busy machine has done less after so many seconds than makes a difference.
            while time.monotonic() < end or len(use.memory) < _LOOKS:
                if any(each.done() for each in running_works):  # it has failed
                    break
                if len(done) == len(works) and done["job"] >= _JOBS:
                    use.look()
                time.sleep(1)
            ended.set()
            for each in running_works:
                each.result()
        use.check()
        with closing(open_store(settings)) as store:
            damages = verify_store(store).damages
        if damages:
            raise Missed("; ".join(damages))
    return {
        "done": dict(done),
        "megabytes": [use.memory[len(use.memory) // 4] // 2**20, use.memory[-1] // 2**20],
        "descriptors": [use.descriptors[len(use.descriptors) // 4], use.descriptors[-1]],
    }


def write(client: httpx.Client, turn: int) -> httpx.Response:
    return client.post("/collections/c/documents", json=[document(n, turn) for n in range(turn % 50, turn % 50 + 20)])


def delete(client: httpx.Client, turn: int) -> httpx.Response:
    time.sleep(0.2)
    return client.request("DELETE", "/collections/c/documents", json={"ids": [f"d{turn % _DOCUMENTS}"]})


def upload(client: httpx.Client, turn: int) -> httpx.Response:
    body = "".join(json.dumps(document(n, turn)) + "\n" for n in range(_DOCUMENTS))
    kind = {"Content-Type": "application/x-ndjson"}
    return _ended(client, client.post("/collections/c/documents/import", content=body, headers=kind))


def job(client: httpx.Client, turn: int) -> httpx.Response:
    kind = ("optimize", "reindex", "purge")[turn % 3]
    return _ended(client, client.post("/tasks", json={"kind": kind, "collection": "c"}))


def _ended(client: httpx.Client, task: httpx.Response) -> httpx.Response:
    told = task
    while told.is_success and told.json()["status"] in ("queued", "running"):
        told = client.get(f"/tasks/{task.json()['id']}?wait=10")
    if told.is_success and told.json()["status"] != "done":
        raise Missed(told.text)
    return told


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("load", choices=("overload", "soak"))
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    try:
        figures = (overload if chosen.load == "overload" else soak)(chosen.seconds)
    except Missed as error:
        sys.exit(str(error))
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
