"""One round of a query: a step goes once to each actor that holds segments, and every segment is answered once.

A request that is later than most also goes to a second actor, and the first answer counts. If a request fails, it goes
to the actor that is next to hold its segments, which opens them first.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from indexer.errors import SegmentsUnreachable
from models.errors import SpanseekError
from models.interruption import checkpoint
from spanseek_ray import transport
from spanseek_ray.actor import Asked, Failed, Lacking
from spanseek_ray.peers import Peer, Peers
from spanseek_ray.shipment import Shipment, ViewKey
from spanseek_ray.transport import Ref, Unanswered

# Seconds after which a wait looks whether its caller has gone, and whether actors were lost.
_LOOK_S: Final = 0.25
_NOTHING: Final = object()

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that is under way: to hold the views of some places, or to answer for them."""

    peer: Peer
    places: tuple[int, ...]
    holds: bool
    since: float


class Round:
    """Asks actors a step about views. ``deadline_s`` is None for passes over everything: they take their time."""

    def __init__(
        self,
        peers: Peers,
        front: str,
        shipments: Sequence[Shipment],
        keys: Sequence[ViewKey],
        asked: Asked,
        deadline_s: float | None,
    ) -> None:
        self._peers, self._front, self._shipments, self._keys = peers, front, shipments, keys
        self._asked = transport.packed(asked)
        self._end = None if deadline_s is None else time.monotonic() + deadline_s
        self._answers: list[Any] = [_NOTHING] * len(shipments)
        self._under_way: dict[Ref, Sent] = {}
        self._hedged: set[Ref] = set()
        self._lost: set[Peer] = set()
        self._refused: defaultdict[int, list[Peer]] = defaultdict(list)

    def answers(self) -> list[Any]:
        """Return the answers for all views, in their order.

        Raises ``SegmentsUnreachable``, ``ClusterBusy``, and the error with which an actor refuses the step.
        """
        try:
            self._send(range(len(self._shipments)))
            self._take_together()
            while self._left():
                self._take_next()
        finally:
            for sent in self._under_way.values():
                sent.peer.waiting -= 1
        return self._answers

    def _left(self) -> bool:
        return any(answer is _NOTHING for answer in self._answers)

    def _send(self, places: Collection[int]) -> None:
        """Send one request per actor for some places: to answer, or first to hold their views if it lacks them."""
        for (peer, holds), some in self._routes(places).items():
            self._send_to(peer, tuple(some), holds)

    def _routes(self, places: Collection[int]) -> dict[tuple[Peer, bool], list[int]]:
        routes: defaultdict[tuple[Peer, bool], list[int]] = defaultdict(list)
        among = self._others()
        for place in places:
            peer = self._peers.choose(self._shipments[place], self._keys[place], among)
            if peer is None:
                raise self._unreachable(places, "no actor of the cluster answers")
            routes[peer, self._keys[place] not in peer.held].append(place)
        return routes

    def _others(self, *without: Peer) -> list[Peer]:
        """The actors that may be asked: those that have failed in this round are not."""
        return [peer for peer in self._peers.ready if peer not in self._lost and peer not in without]

    def _send_to(self, peer: Peer, places: tuple[int, ...], holds: bool = False) -> Ref:
        if holds:
            ref = transport.hold(peer.handle, [self._shipments[place] for place in places])
        else:
            keys = [self._keys[place] for place in places]
            ref = transport.ask(peer.handle, self._front, keys, self._asked, bulk=self._end is None)
        peer.waiting += 1
        self._under_way[ref] = Sent(peer, places, holds, time.monotonic())
        return ref

    def _take_together(self) -> None:
        """Take all answers at once where none is late: the usual case, and one call."""
        if any(sent.holds for sent in self._under_way.values()):
            return
        late = min((self._late_after(sent) for sent in self._under_way.values()), default=_LOOK_S)
        answers = transport.all_done(list(self._under_way), min(late, _LOOK_S))
        for ref, answer in zip(list(self._under_way), answers or [], strict=False):
            self._take(ref, answer)

    def _take_next(self) -> None:
        """Take what has come; hedge what is late, and end when the time is up."""
        checkpoint()
        now = time.monotonic()
        if self._end is not None and now >= self._end:
            self._time_is_up()
        waits = {ref: sent.since + self._late_after(sent) - now for ref, sent in self._hedgeable.items()}
        done = transport.first_done(list(self._under_way), max(0.0, min([*waits.values(), _LOOK_S])))
        for ref in done:
            self._take_or_send_again(ref)
        for ref in () if done else waits:
            self._hedge(ref)
        self._leave_lost()

    @property
    def _hedgeable(self) -> dict[Ref, Sent]:
        """The requests that may go to a second actor when they are late: those of searches, each once."""
        if self._end is None:
            return {}
        return {ref: sent for ref, sent in self._under_way.items() if ref not in self._hedged and not sent.holds}

    def _take_or_send_again(self, ref: Ref) -> None:
        try:
            answer = transport.result(ref)
        except Unanswered as error:
            _log.warning("%s does not answer: %s", self._under_way[ref].peer.name, error)
            self._give_up(ref)
        else:
            self._take(ref, answer)

    def _take(self, ref: Ref, answer: Any) -> None:  # noqa: ANN401
        sent = self._under_way.pop(ref)
        sent.peer.waiting -= 1
        if sent.holds:
            self._take_held(sent, answer)
            return
        of_views = transport.unpacked(answer)
        if isinstance(of_views, Failed):
            raise of_views.error
        if isinstance(of_views, Lacking):
            sent.peer.held -= {self._keys[sent.places[at]] for at in of_views.places}
            self._send([place for place in sent.places if self._answers[place] is _NOTHING])
            return
        if self._end is not None:
            sent.peer.times.add(time.monotonic() - sent.since)
        for place, of_view in zip(sent.places, of_views, strict=True):
            self._answers[place] = of_view

    def _take_held(self, sent: Sent, errors: Sequence[SpanseekError | None]) -> None:
        """Ask an actor for the views that it has opened; have others open those that it could not."""
        opened = tuple(place for place, error in zip(sent.places, errors, strict=True) if error is None)
        sent.peer.held |= {self._keys[place] for place in opened}
        if opened:
            self._send_to(sent.peer, opened)
        for place, error in zip(sent.places, errors, strict=True):
            if error is not None:
                self._refused[place].append(sent.peer)
                self._open_elsewhere(place, error)

    def _open_elsewhere(self, place: int, error: SpanseekError) -> None:
        """Have a second actor open what the first cannot: its disk may be full, or its way to the segments cut."""
        holders = self._peers.holders(self._shipments[place].segment, self._others())
        second = next((peer for peer in holders if peer not in self._refused[place]), None)
        if second is None:
            raise self._unreachable([place], str(error))
        self._send_to(second, (place,), holds=self._keys[place] not in second.held)

    def _give_up(self, ref: Ref) -> None:
        """Give up a request to an actor that has failed, and ask others for its missing answers."""
        sent = self._under_way.pop(ref)
        sent.peer.waiting -= 1
        self._lost.add(sent.peer)
        self._peers.lose(sent.peer)
        asked = {place for other in self._under_way.values() for place in other.places}
        self._send([place for place in sent.places if self._answers[place] is _NOTHING and place not in asked])

    def _leave_lost(self) -> None:
        """Give up the requests to actors that other requests have found to fail."""
        ready = set(self._peers.ready)
        for ref in [ref for ref, sent in self._under_way.items() if sent.peer not in ready]:
            self._give_up(ref)

    def _hedge(self, ref: Ref) -> None:
        """Send a late request to other actors, too, if they hold all of its views."""
        sent = self._under_way[ref]
        if time.monotonic() - sent.since < self._late_after(sent):
            return
        self._hedged.add(ref)
        routes: defaultdict[Peer, list[int]] = defaultdict(list)
        among = self._others(sent.peer)
        for place in sent.places:
            second = self._peers.choose(self._shipments[place], self._keys[place], among)
            if second is None or self._keys[place] not in second.held:
                return
            routes[second].append(place)
        sent.peer.hedged += 1
        for second, places in routes.items():
            self._hedged.add(self._send_to(second, tuple(places)))

    def _late_after(self, sent: Sent) -> float:
        return (None if self._end is None else sent.peer.times.late_after()) or _LOOK_S

    def _time_is_up(self) -> None:
        """Mark the actors that have not answered in time as lost, and raise ``SegmentsUnreachable``."""
        places = {place for sent in self._under_way.values() for place in sent.places}
        for sent in self._under_way.values():
            if not sent.holds:
                self._peers.lose(sent.peer)
        raise self._unreachable(places, "no actor has answered in time")

    def _unreachable(self, places: Collection[int], reason: str) -> SegmentsUnreachable:
        missing = [self._shipments[place] for place in places if self._answers[place] is _NOTHING]
        for shipment in missing:
            name = shipment.segment.folder.name
            self._peers.miss([shipment], SegmentsUnreachable(f"Segment {name} is not searched: {reason}.", hint=_HINT))
        return SegmentsUnreachable(f"{len(missing)} segments cannot be asked: {reason}.", hint=_HINT)


_HINT: Final = "Retry: answers without them say so. `spanseek cluster status` shows the actors."
