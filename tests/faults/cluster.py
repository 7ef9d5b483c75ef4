"""A cluster of this machine whose actors, nodes, fronts and head are killed while it is searched.

    python -m tests.faults.cluster --queries 10000 --kills 200 --nodes 20 --fronts 5 --head-s 20

Every answer is compared with that of one process over the same segments, less those that the answer says it lacks.
Nodes are processes of this machine (``ray.cluster_utils``), three with an actor each and a head without; each segment
has two holders. One fault follows the other when the answers are whole again and every actor is asked; a fifth of the
kills are of two actors at once, so that segments have no holder. What ``docs/scale.md`` does not allow is an error.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import ray
from ray.cluster_utils import Cluster

from app.cli.console import print_json
from indexer.cluster.peers import State
from tests.faults.fronts import Front, Tally, fill, searched

_STORE_BYTES: Final = 80 * 2**20
_NODES: Final = 3
# Answers of a front before it is killed.
_OF_FRONT: Final = 20
_PATIENCE_S: Final = 600.0


class Missed(Exception):
    """The cluster did not keep what is promised."""


class Chaos:
    """Faults one after the other, and the seconds until answers were whole again and until every actor was asked."""

    def __init__(self, cluster: Any, folder: Path, front: Front) -> None:
        self._cluster, self._folder, self._front = cluster, folder, front
        self._nodes = list(cluster.worker_nodes)
        self._random = random.Random(3)
        self.seconds: dict[str, list[tuple[float, float]]] = {}

    def kill_actors(self, count: int) -> None:
        """Kill one actor, or all that hold some segment, and wait until Ray has started them again."""
        killed = self._random.sample(self._front.peers, count)
        before = {peer: peer.failed for peer in killed}
        with self._timed(f"{count} killed", lambda: all(peer.failed > before[peer] for peer in killed)):
            for peer in killed:
                ray.kill(peer.handle, no_restart=False)

    def replace_node(self) -> None:
        """Remove a node without a word, and add another one."""
        before = {peer.name for peer in self._front.peers}
        with self._timed("node removed", lambda: before != {peer.name for peer in self._front.peers}):
            self._cluster.remove_node(self._nodes.pop(self._random.randrange(len(self._nodes))), allow_graceful=False)
            self._nodes.append(self._cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES))

    def kill_front(self) -> None:
        """Start a second front, kill it amid its searches, and see that the next one answers."""
        began = time.monotonic()
        with _other_front(self._folder, self._cluster.address) as other:
            lines = [json.loads(other.stdout.readline()) for _ in range(_OF_FRONT)]
            first = time.monotonic() - began
            other.send_signal(signal.SIGKILL)
        if "wrong" in lines:
            raise Missed("a front that was started anew answers wrongly")
        self.seconds.setdefault("front started anew", []).append((first, first))

    def restart_head(self, away_s: float, meanwhile: Tally) -> None:
        """Kill the head's server of the cluster, search without it, and start it again from what it has stored."""
        head = self._cluster.head_node
        head.kill_gcs_server()
        with searched(self._front, meanwhile):
            time.sleep(away_s)
        with self._timed("head restarted", lambda: True):
            head.start_gcs_server()

    def settled(self) -> bool:
        """True if every actor is asked."""
        peers = self._front.peers
        return len(peers) == _NODES and all(peer.state is State.READY for peer in peers)

    @contextmanager
    def _timed(self, name: str, is_noticed: Callable[[], bool]) -> Iterator[None]:
        began = time.monotonic()
        yield
        until(self._front.is_whole)
        whole = time.monotonic() - began
        until(lambda: is_noticed() and self.settled())
        self.seconds.setdefault(name, []).append((whole, time.monotonic() - began))


@contextmanager
def _other_front(folder: Path, address: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.faults.fronts", str(folder), address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
        try:
            yield other
        finally:
            other.kill()


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise Missed("answers are not whole again")
        time.sleep(0.02)


def run(queries: int, kills: int, nodes: int, fronts: int, head_s: float) -> dict[str, Any]:
    """Start a cluster, search it and break it; figures of what was seen. Raises ``Missed``."""
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
    tally = Tally()
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        folder = Path(made)
        fill(folder)
        os.environ |= {"RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": f"{folder}/gcs"}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        ending.callback(cluster.shutdown)
        for _ in range(_NODES):
            cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)
        front = Front(folder, cluster.address)
        ending.callback(front.executor.close)
        until(lambda: len(front.peers) == _NODES or bool(front.executor.health()))
        until(front.is_whole)
        chaos = Chaos(cluster, folder, front)
        until(chaos.settled)
        faults = [lambda: chaos.kill_actors(1)] * (kills * 8 // 10) + [lambda: chaos.kill_actors(2)] * (kills // 10)
        faults += [chaos.replace_node] * nodes + [chaos.kill_front] * fronts
        random.Random(5).shuffle(faults)
        began = time.monotonic()
        with searched(front, tally):
            for fault in faults:
                fault()
            until(lambda: tally.searches >= queries)
        seconds = time.monotonic() - began
        without_head = Tally()
        if head_s:
            chaos.restart_head(head_s, without_head)
            chaos.kill_actors(1)  # it is there to start it again
    report = _report(tally, chaos, seconds) | {"without_head": _counts(without_head)}
    if tally.wrong or without_head.wrong or without_head.degraded or without_head.refused:
        raise Missed(json.dumps(report))
    return report


def _report(tally: Tally, chaos: Chaos, seconds: float) -> dict[str, Any]:
    again = {
        name: {
            "times": len(of),
            **{
                f"{what}_s": {f"p{q}": round(float(np.percentile(column, q)), 2) for q in (50, 99, 100)}
                for what, column in zip(("whole", "settled"), zip(*of, strict=True), strict=True)
            },
        }
        for name, of in chaos.seconds.items()
    }
    return {"seconds": round(seconds), "searches": _counts(tally), "again": again}


def _counts(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in ("whole", "degraded", "refused", "wrong")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--fronts", type=int, default=5)
    parser.add_argument("--head-s", type=float, default=20.0)
    given = parser.parse_args()
    print_json(run(given.queries, given.kills, given.nodes, given.fronts, given.head_s))


if __name__ == "__main__":
    main()
