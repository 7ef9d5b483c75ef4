"""Keeps a front's actors in step with the cluster: starts them on new nodes, warms them up, and drops lost ones."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Event, Lock, Thread
from typing import Final

from spanseek_ray import ray_nodes, transport
from spanseek_ray.peers import Peer, Peers, State
from spanseek_ray.settings import ClusterOptions
from spanseek_ray.shipment import Shipment
from spanseek_ray.transport import Ref, Unanswered

# Seconds between two looks at the cluster.
_WATCH_S: Final = 0.5
# The time limit in seconds for an actor to start, and to open each segment of its share.
_ENTER_S: Final = 300.0

_log = logging.getLogger(__name__)


class Membership:
    """Watches a cluster for a front. ``known`` returns what the front has asked for; a new actor opens its share."""

    def __init__(self, options: ClusterOptions, peers: Peers, known: Callable[[], Iterable[Shipment]]) -> None:
        self._options, self._peers, self._known = options, peers, known
        self._leaves = ray_nodes.connect(options)
        self._asked: dict[Peer, Ref] = {}  # for their figures
        self._busy: set[object] = set()
        self._lock = Lock()
        self._closed = Event()
        self._helpers = ThreadPoolExecutor(16, "cluster-enter")
        self._look()
        self._thread = Thread(target=self._watch, name="cluster-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Watch no longer. The actors stay for other fronts, unless the cluster is this process's own."""
        self._closed.set()
        self._thread.join()
        self._helpers.shutdown(cancel_futures=True)
        if self._leaves:
            ray_nodes.leave()

    def prepare(self, shipments: Sequence[Shipment]) -> None:
        """Have each shipment opened by the actors that should hold it, and wait until they have opened it.

        Stops waiting for an actor that is no longer ready, or that has been silent for ``deadline_s`` seconds.
        """
        ready = self._peers.ready
        under_way: dict[Ref, tuple[Peer, Shipment]] = {}
        for each in shipments:
            for peer in self._peers.holders(each.segment, ready):
                if each.key not in peer.held:
                    under_way[transport.hold(peer.handle, [each])] = peer, each
        began = time.monotonic()
        while under_way:
            for ref in transport.first_done(list(under_way), _WATCH_S):
                with suppress(Unanswered):
                    self._take_held(ref, *under_way.pop(ref))
            silent = time.monotonic() - self._options.deadline_s
            under_way = {
                ref: (peer, each)
                for ref, (peer, each) in under_way.items()
                if peer.state is State.READY and max(peer.seen, began) > silent
            }

    def _watch(self) -> None:
        is_seen = True
        while not self._closed.wait(_WATCH_S):
            if not ray_nodes.is_joined():  # the interpreter ends
                return
            try:
                self._look()
                is_seen = True
            except Exception as error:  # noqa: BLE001  Ray raises errors of many kinds while its head is away
                if is_seen:
                    _log.warning("the cluster cannot be looked at: %s", error)
                is_seen = False

    def _look(self) -> None:
        self._follow_nodes()
        self._read_figures()
        for peer in self._peers.silent(self._options.deadline_s):
            _log.warning("%s is silent, and not asked until it answers", peer.name)
            self._peers.lose(peer)
        for peer in self._peers:
            if peer.figures.draining and peer.state is not State.DRAINED:
                self._help(peer, partial(self._hand_over, peer))
            elif not peer.figures.draining and peer.state is not State.READY:
                self._help(peer, partial(self._enter, peer))
        for shipment in self._peers.missing:
            self._help(shipment.segment, partial(self._find, shipment))

    def _follow_nodes(self) -> None:
        places = {place.name: place for place in ray_nodes.places(self._options)}
        names = {peer.name for peer in self._peers}
        for name in places.keys() - names:
            place = places[name]
            self._peers.add(Peer(name, place.node, ray_nodes.actor_at(place, self._options)))
        self._peers.remove(names - places.keys())

    def _read_figures(self) -> None:
        """Take the figures that have come, and ask anew."""
        for peer in self._peers:
            ref = self._asked.pop(peer, None)
            if ref is not None and not transport.first_done([ref], 0):
                self._asked[peer] = ref
                continue
            try:
                if ref is not None:
                    peer.figures, peer.seen = transport.result(ref), time.monotonic()
            except Unanswered:
                if peer.state is State.READY:
                    self._peers.lose(peer)
            self._asked[peer] = transport.figures(peer.handle)

    def _help(self, subject: object, work: Callable[[], None]) -> None:
        """Run slow work in a thread, unless earlier work on the same subject is still running."""

        def run() -> None:
            try:
                work()
            except Unanswered as error:
                _log.info("an actor does not answer: %s", error)
            finally:
                with self._lock:
                    self._busy.discard(subject)

        with self._lock:
            if subject in self._busy:
                return
            self._busy.add(subject)
        self._helpers.submit(run)

    def _enter(self, peer: Peer) -> None:
        """Wait until an actor answers and holds its share of the segments, then mark it as ready."""
        transport.result(transport.probe(peer.handle), _ENTER_S)
        others = [other for other in self._peers.ready if other is not peer]
        self._hold(peer, [each for each in self._known() if peer in self._peers.holders(each.segment, [*others, peer])])
        peer.seen = time.monotonic()
        self._peers.enter(peer)

    def _hand_over(self, peer: Peer) -> None:
        """Have the other actors open what a draining actor holds, then mark it as drained."""
        others = [other for other in self._peers.ready if other is not peer]
        for other in others:
            share = [each for each in self._known() if other in self._peers.holders(each.segment, others)]
            self._hold(other, [each for each in share if each.key not in other.held])
        self._peers.enter(peer, State.DRAINED)

    def _find(self, shipment: Shipment) -> None:
        """Have a lost segment opened by one of the actors that should hold it, however long that takes."""
        for peer in self._peers.holders(shipment.segment, self._peers.ready):
            self._hold(peer, [shipment])
            if shipment.key in peer.held:
                self._peers.found(shipment)
                return

    def _hold(self, peer: Peer, shipments: list[Shipment]) -> None:
        for ref, each in [(transport.hold(peer.handle, [each]), each) for each in shipments]:
            self._take_held(ref, peer, each)

    def _take_held(self, ref: Ref, peer: Peer, shipment: Shipment) -> None:
        (error,) = transport.result(ref, _ENTER_S)
        if error is None:
            peer.held.add(shipment.key)
