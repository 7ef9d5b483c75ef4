"""A cluster of this machine that is broken in all its parts while it is searched and written to.

    python -m plugins.ray.tests.cluster --queries 10000 --kills 200 --nodes 20 --fronts 5 --head-s 20
    python -m plugins.ray.tests.cluster --queries 10000 --kills 20 --buckets 30 --databases 20
    python -m plugins.ray.tests.cluster --queries 10000 --kills 20 --nodes 5 --cuts 20 --partitions 5 --namespaces

Every answer is compared with that of one process over the same segments, less those that the answer says it lacks.
Nodes are processes of this machine (``ray.cluster_utils``), or have network namespaces of their own; three have an
actor each, and the head none; each segment has two holders. One fault follows the other when the answers are whole
again and every actor is asked; a fifth of the kills are of two actors at once, so that segments have no holder.
Meanwhile documents are written to a collection beside it. What ``docs/scale.md`` does not allow is an error.
"""

import argparse
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import ray
from ray.cluster_utils import Cluster

from app.cli.console import print_json
from plugins.ray.tests.fronts import Front, Site, Tally, Writer, fill, searched
from plugins.ray.tests.namespaces import HEAD, Namespaces, bridged
from spanseek_ray.peers import State
from tests.buckets import FaultyServer, broken, cut, of, serving, slow
from tests.integration.conftest import PostgresServer, running_postgres

_STORE_BYTES: Final = 80 * 2**20
_NODES: Final = 3
# Answers of a front before it is killed.
_OF_FRONT: Final = 20
_PATIENCE_S: Final = 600.0
# A cable is cut for so long: a moment; and until the cluster has given its node up.
_MOMENT_S: Final = 6.0
_AGES_S: Final = 60.0
_DATABASE_S: Final = 3.0
_BUCKET_S: Final = 8.0
# A head that starts again on a busy machine takes longer than Ray's minute, after which all that has joined it ends.
_HEAD_S: Final = 300
_BUCKET_FAULTS: Final = {"slow": slow, "failing": broken, "cut off": cut}


class Missed(Exception):
    """The cluster did not keep what is promised."""


@dataclass(frozen=True)
class Broken:
    """What can be broken."""

    site: Site
    cluster: Cluster
    nodes: Any
    front: Front
    writer: Writer
    tally: Tally
    bucket: FaultyServer | None
    database: PostgresServer | None


class Chaos:
    """Faults one after the other: what was answered, and the seconds until all was well again."""

    def __init__(self, broken: Broken) -> None:
        self._broken, self._front, self._nodes = broken, broken.front, broken.nodes
        self._random = random.Random(3)
        self.seconds: dict[str, list[tuple[float, float]]] = {}
        self.answers: dict[str, Counter[str]] = {}

    def kill_actors(self, count: int) -> None:
        """Kill one actor, or all that hold some segment, and wait until Ray has started them again."""
        with self._killed(f"{count} killed", count):
            pass

    def replace_node(self) -> None:
        """Remove a node without a word, and add another one."""
        before = {peer.name for peer in self._front.peers}
        with self._timed("node removed", lambda: before != {peer.name for peer in self._front.peers}):
            self._nodes.remove_node(self._any_node(), allow_graceful=False)
            self._nodes.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)

    def cut_cable(self) -> None:
        """Cut a node off for a moment."""
        with self._timed("cable cut for a moment", lambda: True):
            self._any_node().cut(_MOMENT_S)

    def lose_node(self) -> None:
        """Cut a node off until the cluster has given it up, and add another one."""
        before = {peer.name for peer in self._front.peers}
        with self._timed("cable cut, node given up", lambda: before != {peer.name for peer in self._front.peers}):
            node = self._any_node()
            node.cut(_AGES_S)
            self._nodes.remove_node(node, allow_graceful=False)
            self._nodes.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)

    def break_bucket(self, name: str, count: int) -> None:
        """Have a bucket fail while so many actors are started again on nodes whose caches are lost."""
        shutil.rmtree(self._broken.site.node_cache)
        failing = self._broken.bucket.failing(of("GET", _BUCKET_FAULTS[name]))
        with self._killed(f"bucket {name}, {count} killed", count), failing:
            time.sleep(_BUCKET_S)

    def restart_database(self) -> None:
        """Stop PostgreSQL without a word, and start it again a while later."""
        writer, database = self._broken.writer, self._broken.database
        began = time.monotonic()
        with self._timed("database restarted", lambda: True):
            database.stop()
            time.sleep(_DATABASE_S)
            database.resume()
            back = time.monotonic()
        until(lambda: writer.at > back)
        self.seconds.setdefault("database back, until a write", []).append((writer.at - back, writer.at - began))

    def kill_front(self) -> None:
        """Start a second front, kill it amid its searches, and see that the next one answers."""
        began = time.monotonic()
        with _other_front(self._broken.site, self._broken.cluster.address) as other:
            lines = [json.loads(other.stdout.readline()) for _ in range(_OF_FRONT)]
            first = time.monotonic() - began
            other.send_signal(signal.SIGKILL)
        if "wrong" in lines:
            raise Missed("a front that was started anew answers wrongly")
        self.seconds.setdefault("front started anew", []).append((first, first))

    def restart_head(self, away_s: float, meanwhile: Tally) -> None:
        """Kill the head's server of the cluster, search without it, and start it again from what it has stored."""
        head = self._broken.cluster.head_node
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
    def _killed(self, name: str, count: int) -> Iterator[None]:
        killed = self._random.sample(self._front.peers, count)
        before = {peer: peer.failed for peer in killed}
        with self._timed(name, lambda: all(peer.failed > before[peer] for peer in killed)):
            for peer in killed:
                ray.kill(peer.handle, no_restart=False)
            yield

    def _any_node(self) -> Any:
        return self._random.choice(list(self._nodes.worker_nodes))

    @contextmanager
    def _timed(self, name: str, is_noticed: Callable[[], bool]) -> Iterator[None]:
        began, before = time.monotonic(), Counter(_counts(self._broken.tally))
        yield
        until(self._front.is_whole)
        whole = time.monotonic() - began
        until(lambda: is_noticed() and self.settled())
        self.seconds.setdefault(name, []).append((whole, time.monotonic() - began))
        self.answers.setdefault(name, Counter()).update(Counter(_counts(self._broken.tally)) - before)


@contextmanager
def _other_front(site: Site, address: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "plugins.ray.tests.fronts", address, str(site.folder), site.catalog, site.bucket]
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


@contextmanager
def _standing(given: argparse.Namespace) -> Iterator[Broken]:
    """A cluster, what it reads, and who asks it."""
    head: dict[str, Any] = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        folder = Path(made)
        if given.namespaces:
            ending.enter_context(bridged())
            head["node_ip_address"] = HEAD
        host = HEAD if given.namespaces else "127.0.0.1"
        bucket = ending.enter_context(serving(host)) if given.buckets else None
        database = ending.enter_context(running_postgres()) if given.databases else None
        if database is not None:
            database.execute("CREATE DATABASE cluster")
        site = Site(folder, database.url("cluster") if database else "", "s3://bucket/cluster" if bucket else "")
        fill(site)
        os.environ |= {"RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": f"{folder}/gcs"}
        os.environ |= {"RAY_gcs_rpc_server_reconnect_timeout_s": str(_HEAD_S)}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        ending.callback(cluster.shutdown)
        nodes = cluster
        if given.namespaces:
            nodes = ending.enter_context(closing(Namespaces(cluster.address)))
        for _ in range(_NODES):
            nodes.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)
        front = Front(site, cluster.address)
        ending.callback(front.executor.close)
        until(lambda: len(front.peers) == _NODES or bool(front.executor.health()))
        until(front.is_whole)
        writer = Writer(site)
        yield Broken(site, cluster, nodes, front, writer, Tally(), bucket, database)


def run(given: argparse.Namespace) -> dict[str, Any]:
    """Start a cluster, search it and break it; figures of what was seen. Raises ``Missed``."""
    without_head = Tally()
    with _standing(given) as broken:
        chaos, tally = Chaos(broken), broken.tally
        until(chaos.settled)
        began = time.monotonic()
        with searched(broken.front, tally), broken.writer.running():
            for fault in _faults(chaos, given):
                fault()
            until(lambda: tally.searches >= given.queries)
        seconds = time.monotonic() - began
        if given.head_s:
            chaos.restart_head(given.head_s, without_head)
            chaos.kill_actors(1)  # it is there to start it again
        writer = broken.writer
        written = {name: getattr(writer, name) for name in ("acknowledged", "refused", "wrong")}
        written["lost"] = len(writer.lost())
    report = {"seconds": round(seconds), "searches": _counts(tally), "faults": _report(chaos), "written": written}
    report |= {"without_head": _counts(without_head)}
    missed = (tally.wrong, written["wrong"], written["lost"])
    missed += (without_head.wrong, without_head.degraded, without_head.refused)
    if any(missed):
        raise Missed(json.dumps(report))
    return report


def _faults(chaos: Chaos, given: argparse.Namespace) -> list[Callable[[], None]]:
    """So many of each kind, in any order."""
    faults = [partial(chaos.kill_actors, 1)] * (given.kills - given.kills // 10 * 2)
    faults += [partial(chaos.kill_actors, 2)] * (given.kills // 10)
    faults += [chaos.replace_node] * given.nodes + [chaos.kill_front] * given.fronts
    faults += [chaos.cut_cable] * given.cuts + [chaos.lose_node] * given.partitions
    faults += [chaos.restart_database] * given.databases
    kinds = list(product(_BUCKET_FAULTS, (1, 2)))
    faults += [partial(chaos.break_bucket, *kinds[number % len(kinds)]) for number in range(given.buckets)]
    random.Random(5).shuffle(faults)
    return faults


def _report(chaos: Chaos) -> dict[str, Any]:
    return {
        name: {
            "times": len(of),
            **{
                f"{what}_s": {f"p{q}": round(float(np.percentile(column, q)), 2) for q in (50, 99, 100)}
                for what, column in zip(("whole", "settled"), zip(*of, strict=True), strict=True)
            },
            **({"answers": dict(chaos.answers[name])} if name in chaos.answers else {}),
        }
        for name, of in chaos.seconds.items()
    }


def _counts(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in ("whole", "degraded", "refused", "wrong")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--fronts", type=int, default=5)
    parser.add_argument("--buckets", type=int, default=0, help="segments lie in a bucket, which fails so many times")
    parser.add_argument("--databases", type=int, default=0, help="restarts of PostgreSQL, which has the catalog")
    parser.add_argument("--cuts", type=int, default=0, help="needs --namespaces, as --partitions does")
    parser.add_argument("--partitions", type=int, default=0)
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--head-s", type=float, default=20.0)
    given = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # each request to the bucket
    if (given.cuts or given.partitions) and not given.namespaces:
        parser.error("without --namespaces there is no cable to cut")
    print_json(run(given))


if __name__ == "__main__":
    main()
