"""Whatever actors do, a round has the right answer of every segment, or says which it lacks."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.engine.executor import Memo, SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import ClusterBusy, SegmentsUnreachable
from indexer.segments import opened
from indexer.segments.layout import VECTORS
from models.errors import InvalidInput
from models.interruption import interruptible
from plugins.ray.tests.fake_cluster import FakeCluster, FakeHandle, FakeTransport
from spanseek_ray import asking
from spanseek_ray.peers import State
from spanseek_ray.shipment import Shipment
from tests.contracts.test_executors import DIM, Case, collection, unit

# The segments for which a query has computed something.
COMPUTED: list[str] = []
QUERIES = unit(np.random.default_rng(4).normal(size=(2, DIM)))


class Names(SegmentQuery[int, str]):
    """The names of the segments, and how many there are."""

    rounds = 1

    def statistics(self, view: SegmentView, total: int | None, selection: Selection) -> int:
        return 1

    def total(self, parts: list[int], selection: Selection) -> int:
        return sum(parts)

    def rows(self, view: SegmentView, total: int | None, selection: Selection) -> str:
        return f"{view.name} of {total}"


@dataclass(frozen=True)
class Remembering(SegmentQuery[int, str]):
    """A query whose rows are computed in the round before."""

    memo: Memo = field(default_factory=Memo)
    rounds = 1

    def statistics(self, view: SegmentView, total: int | None, selection: Selection) -> int:
        self._computed(view)
        return 1

    def total(self, parts: list[int], selection: Selection) -> int:
        return sum(parts)

    def rows(self, view: SegmentView, total: int | None, selection: Selection) -> str:
        return self._computed(view)

    def _computed(self, view: SegmentView) -> str:
        def compute() -> str:
            COMPUTED.append(view.name)
            return view.name

        return self.memo.once(view.name, compute)


class Refusing(SegmentQuery[None, None]):
    """A query that segments refuse."""

    def rows(self, view: SegmentView, total: None, selection: Selection) -> None:
        raise InvalidInput("It is refused.", hint="Ask something else.", field="text")


class Gone(Exception):
    """The caller has gone."""


def gone(transport: FakeTransport) -> None:
    if transport.now > 100:
        raise Gone


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    sizes = [[[30, 7]], [[12]], [[64], [3]], [[5]], [[40]]]
    return collection(tmp_path_factory.mktemp("rounds"), (1, 20), sizes, "random", 1, set())


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    fake = FakeTransport()
    monkeypatch.setattr(asking, "transport", fake)
    monkeypatch.setattr(asking, "time", fake)
    return fake


def named(case: Case, total: int | None = None) -> list[str]:
    return [f"{name} of {total or len(case.snapshot.names)}" for name in case.snapshot.names]


def scanned(snapshot: Snapshot) -> list[list[tuple]]:
    return [[tuple(row) for row in rows] for rows in search(snapshot, SpanScan(QUERIES), Selection(top_k=7), 2)]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.integers(1, 3), st.randoms(use_true_random=False), st.floats(0, 0.6))
def test_answers_are_right_or_say_what_they_lack(case, members, replicas, random, share) -> None:
    def fate() -> str:
        return random.choice(["stalls", "dies"]) if random.random() < share else "returns"

    with pytest.MonkeyPatch.context() as patch:
        fake = FakeTransport()
        patch.setattr(asking, "transport", fake)
        patch.setattr(asking, "time", fake)
        cluster = FakeCluster(*(FakeHandle(fate) for _ in range(members)), replicas=replicas)
        expected = scanned(case.snapshot)
        for _ in range(5):
            snapshot = case.snapshot.read_by(cluster)
            try:
                assert snapshot.map(Names()).parts == named(case)
                assert scanned(snapshot) == expected
            except SegmentsUnreachable:
                missing = [view for view in snapshot.views if cluster.unreachable(view.segment.key)]
                assert missing
                assert cluster.reach
            for peer in cluster.peers:  # they answer again
                peer.state = State.READY
                assert peer.waiting == 0
            for shipment in cluster.peers.missing:
                cluster.peers.found(shipment)


def test_one_request_for_an_actor_and_a_round(case: Case, transport: FakeTransport) -> None:
    handles = [FakeHandle(), FakeHandle()]
    cluster = FakeCluster(*handles, replicas=1)
    snapshot = case.snapshot.read_by(cluster)
    snapshot.map(Names())  # each opens its segments first
    assert [handle.calls for handle in handles] == [3, 3]
    snapshot.map(Names())
    assert [handle.calls for handle in handles] == [5, 5]
    scanned(snapshot)  # the floor of an actor's own segments suffices
    assert [handle.calls for handle in handles] == [6, 6]


def test_an_actor_keeps_what_a_round_computed_for_the_next(case: Case, transport: FakeTransport) -> None:
    COMPUTED.clear()
    parts = case.snapshot.read_by(FakeCluster(FakeHandle())).map(Remembering()).parts
    assert parts == list(case.snapshot.names) == COMPUTED


def test_the_actor_that_is_next_answers_for_one_that_dies(case: Case, transport: FakeTransport) -> None:
    dying, other = FakeHandle(lambda: "dies"), FakeHandle()
    cluster = FakeCluster(dying, other, replicas=1)
    assert case.snapshot.read_by(cluster).map(Names()).parts == named(case)
    assert [peer.state for peer in cluster.peers] == [State.OUT, State.READY]
    assert cluster.reach == 0


def test_a_late_request_goes_to_a_second_actor(case: Case, transport: FakeTransport) -> None:
    slow = FakeHandle()
    cluster = FakeCluster(slow, FakeHandle(), FakeHandle())
    snapshot = case.snapshot.read_by(cluster)
    for view in snapshot.views:
        shipment = Shipment.of(view)
        for peer in cluster.peers.holders(shipment.segment, cluster.peers):
            peer.handle.actor.hold([shipment])
            peer.held.add(shipment.key)
    slow.fate = lambda: "stalls"
    assert snapshot.map(Names()).parts == named(case)
    assert transport.now < 1
    hedged = {peer.handle: peer.hedged for peer in cluster.peers}
    assert hedged[slow] == 2  # once a round
    assert cluster.reach == 0


def test_what_no_actor_answers_in_time_is_left_out_and_found_again(case: Case, transport: FakeTransport) -> None:
    cluster = FakeCluster(FakeHandle(), FakeHandle(), replicas=1)
    snapshot = case.snapshot.read_by(cluster)
    snapshot.map(Names())
    first, _ = cluster.peers
    first.handle.fate = lambda: "stalls"
    with pytest.raises(SegmentsUnreachable) as caught:
        snapshot.map(Names())
    assert caught.value.hint
    assert transport.now == pytest.approx(5, abs=0.3)
    lacking = {view.name for view in snapshot.views if cluster.unreachable(view.segment.key)}
    of_first = [
        view for view in snapshot.views if cluster.peers.holders(view.segment.key, [*cluster.peers])[0] is first
    ]
    assert lacking == {view.name for view in of_first}
    assert snapshot.is_out_of_reach
    for shipment in cluster.peers.missing:
        cluster.peers.found(shipment)
    assert not any(cluster.unreachable(view.segment.key) for view in snapshot.views)


def test_a_pass_over_everything_has_no_deadline(case: Case, transport: FakeTransport) -> None:
    cluster = FakeCluster(FakeHandle())
    snapshot = case.snapshot.read_by(cluster)
    snapshot.map(Names())
    (peer,) = cluster.peers
    peer.handle.fate = lambda: "stalls"
    with pytest.raises(Gone), interruptible(lambda: gone(transport)):
        snapshot.map(Names(), Selection(top_k=10**6))
    assert transport.now > 100
    assert peer.state is State.READY
    assert cluster.reach == 0


def test_damage_that_an_actor_finds_is_named_and_not_read_on(
    tmp_path: Path, transport: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened._verifier, "submit", lambda segment: None)
    monkeypatch.setattr("indexer.segments.manifest._LARGE", 1)
    case = collection(tmp_path, (1, 20), [[[30, 7]], [[12]]], "random", 1, set())
    cluster = FakeCluster(FakeHandle())
    snapshot = case.snapshot.read_by(cluster)
    snapshot.map(Names())
    damaged = snapshot.views[0].segment
    (damaged.folder / VECTORS).write_bytes(bytes((damaged.folder / VECTORS).stat().st_size))
    opened.verify(damaged)
    with pytest.raises(SegmentsUnreachable, match="1 segments cannot be asked"):
        snapshot.map(Names())
    assert VECTORS in str(cluster.unreachable(damaged.key))
    assert cluster.unreachable(snapshot.views[1].segment.key) is None


def test_full_queues_refuse(case: Case, transport: FakeTransport) -> None:
    cluster = FakeCluster(FakeHandle(), FakeHandle(), queue=1)
    for peer in cluster.peers:
        peer.waiting = 1
    with pytest.raises(ClusterBusy):
        case.snapshot.read_by(cluster).map(Names())


def test_an_error_of_a_segment_is_raised_as_it_was(case: Case, transport: FakeTransport) -> None:
    with pytest.raises(InvalidInput, match="It is refused") as caught:
        case.snapshot.read_by(FakeCluster(FakeHandle())).map(Refusing())
    assert (caught.value.hint, caught.value.field) == ("Ask something else.", "text")


def test_without_actors_everything_is_missing(case: Case, transport: FakeTransport) -> None:
    cluster = FakeCluster()
    with pytest.raises(SegmentsUnreachable):
        case.snapshot.read_by(cluster).map(Names())
    assert all(cluster.unreachable(view.segment.key) for view in case.snapshot.views)
