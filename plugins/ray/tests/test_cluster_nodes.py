"""Nodes that join a Ray cluster and leave it, in a process of its own: their share moves alone, no answer changes."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys, time
from pathlib import Path

from ray.cluster_utils import Cluster

from spanseek_ray.executor import RayExecutor
from spanseek_ray.peers import State
from spanseek_ray.settings import ClusterOptions
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from tests.contracts.test_executors import DIM, collection, unit
from plugins.ray.tests.shared_cluster import Bordered
import numpy as np

STORE = 80 * 2**20
QUERIES = unit(np.random.default_rng(4).normal(size=(2, DIM)))


def scanned(snapshot):
    return [[tuple(row) for row in rows] for rows in search(snapshot, SpanScan(QUERIES), Selection(top_k=9), 2)]


def ready(executor, count):
    deadline = time.monotonic() + 300
    while sum(peer.state is State.READY for peer in executor._peers) != count:
        assert time.monotonic() < deadline, executor.members()
        time.sleep(0.05)
    return [peer for peer in executor._peers if peer.state is State.READY]


def owners(executor, snapshot):
    peers = [peer for peer in executor._peers if peer.state is State.READY]
    return {view.name: executor._peers.holders(view.segment.key, peers)[0].name for view in snapshot.views}


cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE}
)
nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2)]
case = collection(Path(sys.argv[1]), (1, 20), [[[30, 7]] for _ in range(16)], "random", 1, set())
expected = scanned(case.snapshot)
executor = RayExecutor(ClusterOptions(cluster.address, replicas=1, deadline_s=200.0), ship=Bordered.of)
assert executor.health() is None, executor.health()
ready(executor, 2)
snapshot = case.snapshot.read_by(executor)
assert scanned(snapshot) == expected
before = owners(executor, snapshot)
assert len(set(before.values())) == 2

third = cluster.add_node(num_cpus=1, object_store_memory=STORE)
newcomer = next(peer for peer in ready(executor, 3) if peer.name not in before.values())
after = owners(executor, snapshot)
moved = {name for name in after if after[name] != before[name]}
assert moved and {after[name] for name in moved} == {newcomer.name}
assert len(newcomer.held) == len(moved)  # before it was asked
assert scanned(snapshot) == expected

cluster.remove_node(third)
for _ in range(20):
    assert scanned(snapshot) == expected
ready(executor, 2)
assert owners(executor, snapshot) == before
assert scanned(snapshot) == expected
assert executor.reach == 0
executor.close()
cluster.shutdown()
print("moved", len(moved), "of", len(after))
"""


@pytest.mark.slow("starts a cluster")
@pytest.mark.timeout(900)
def test_a_node_that_joins_or_leaves_moves_its_share_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=880, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    moved, segments = (int(word) for word in done.stdout.split()[-3:] if word.isdigit())
    assert 0 < moved < segments
