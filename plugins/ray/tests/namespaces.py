"""Nodes of a Ray cluster in network namespaces of this machine: each has an address and a cable that can be cut.

It needs root, and Debian's iproute2. The head and those who ask are in the machine's own namespace, at ``HEAD``.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

HEAD: Final = "10.77.0.1"
_BRIDGE: Final = "spanseek-br"
# Ray's, of all nodes of this machine, which share its files.
_SOCKETS: Final = Path("/tmp/ray/session_latest/sockets")
_RAY: Final = Path(sys.executable).with_name("ray")


class Node:
    """A node in a namespace of its own."""

    def __init__(self, number: int, address: str, store_bytes: int) -> None:
        self.name = f"spanseek-{number}"
        self._cable = f"spanseek-v{number}"
        _ip(f"netns add {self.name}")
        _ip(f"link add {self._cable} type veth peer name eth0 netns {self.name}")
        _ip(f"link set {self._cable} master {_BRIDGE} up")
        own = f"10.77.{1 + number // 250}.{1 + number % 250}"
        for what in (f"addr add {own}/16 dev eth0", "link set eth0 up", "link set lo up"):
            _ip(f"-n {self.name} {what}")
        options = [f"--address={address}", f"--node-ip-address={own}", f"--object-store-memory={store_bytes}"]
        before = set(_SOCKETS.glob("raylet*"))
        self._process = subprocess.Popen(
            ["ip", "netns", "exec", self.name, str(_RAY), "start", "--num-cpus=1", "--block", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Nodes that start at once would take one name for their sockets, and one of them would end.
        while before.issuperset(_SOCKETS.glob("raylet*")):
            assert self._process.poll() is None, f"{self.name} ended with {self._process.returncode}"
            time.sleep(0.1)

    def cut(self, seconds: float) -> None:
        """Cut its cable, so that packets are lost in both directions without a word, and mend it after so long."""
        _ip(f"link set {self._cable} down")
        time.sleep(seconds)
        _ip(f"link set {self._cable} up")

    def remove(self) -> None:
        """Kill all its processes at once."""
        while pids := _ip(f"netns pids {self.name}").split():
            subprocess.run(["kill", "-9", *pids], stderr=subprocess.DEVNULL, check=False)
            time.sleep(0.05)
        self._process.wait()
        _ip(f"netns delete {self.name}")
        with suppress(subprocess.CalledProcessError):  # it goes with the namespace, a moment later
            _ip(f"link delete {self._cable}")


class Namespaces:
    """What adds and removes nodes, as ``ray.cluster_utils.Cluster`` does in one namespace."""

    def __init__(self, address: str) -> None:
        self._address, self._made = address, 0
        self.worker_nodes: list[Node] = []

    def add_node(self, object_store_memory: int, num_cpus: int = 1) -> Node:
        """A node more; it joins when Ray has started there."""
        assert num_cpus == 1
        self._made += 1
        self.worker_nodes.append(Node(self._made, self._address, object_store_memory))
        return self.worker_nodes[-1]

    def remove_node(self, node: Node, allow_graceful: bool = False) -> None:
        """Kill a node."""
        assert not allow_graceful
        self.worker_nodes.remove(node)
        node.remove()

    def close(self) -> None:
        """Remove all nodes."""
        for node in list(self.worker_nodes):
            self.remove_node(node)


@contextmanager
def bridged() -> Iterator[None]:
    """The network that the namespaces share with this one."""
    _ip(f"link add {_BRIDGE} type bridge")
    try:
        _ip(f"addr add {HEAD}/16 dev {_BRIDGE}")
        _ip(f"link set {_BRIDGE} up")
        yield
    finally:
        _ip(f"link delete {_BRIDGE}")


def _ip(what: str) -> str:
    return subprocess.run(["ip", *what.split()], check=True, capture_output=True, text=True).stdout
