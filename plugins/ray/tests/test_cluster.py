"""A Ray cluster on this machine: what it answers is to the bit what one process answers, whatever happens to actors."""

import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from app.requests import ModeName, PreviewRequest, SearchRequest
from app.search import literal
from app.search.answers import SearchAnswer
from app.search.service import encode
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.executor import Executor
from indexer.engine.query import EVERYTHING, Filter
from indexer.errors import SegmentsUnreachable
from indexer.segments.options import SegmentsOptions
from indexer.segments.storage import Segments
from models.types import Document
from plugins.ray.tests.shared_cluster import BUCKETS, CLUSTER
from spanseek_ray.peers import Peer, State
from tests.buckets import bucket_segments
from tests.byte_restorer import ByteRestorer
from tests.executors import Without
from tests.faults.places import ROUNDS
from tests.waiting import until
from tests.workspace import ALL_REPRESENTATIONS, Workspace, document

# Both sides encode alike: one has loaded its models before the first test.
pytestmark = [pytest.mark.slow("starts a cluster"), pytest.mark.native_precision, pytest.mark.timeout(600)]

# Seconds until an actor has started again.
PATIENCE_S = 400.0
# While actors are killed.
QUERIES = 300 if ROUNDS else 25
WORDS = ["the", "parcel", "never", "came", "to", "my", "door", "please", "cancel", "invoice", "router", "slow", "again"]
REQUESTS: list[dict[str, Any]] = [
    {"text": "the parcel never came"},
    {"text": "cancel", "filter": Filter({"lang": "en"}), "total": True},
    {"text": "my door", "top_k": 1000},
    {"text": "router slow again", "threshold": 0.3, "top_k": 50},
]
OF_SPANS: list[dict[str, Any]] = [{"text": "please cancel", "group_by": "document", "top_k": 5}]


def documents(count: int) -> Iterator[Document]:
    rng = random.Random(7)
    for number in range(count):
        texts = [" ".join(rng.choices(WORDS, k=20)) + ". Naïve 😀 東京!" for _ in range(3)]
        yield document(f"d{number:03d}", *texts, lang=rng.choice(["en", "fr"]), number=number)


def workspace_at(folder: Path, executor: Executor, segments: Segments | None) -> Workspace:
    stored = {"words": True, "nugget_ratio": 0.5, "representations": ALL_REPRESENTATIONS}
    return Workspace(folder, executor=executor, restorer=ByteRestorer(), segments=segments, **stored)


@pytest.fixture(scope="module")
def local() -> Without:
    return Without()


@pytest.fixture(scope="module", params=["folder", "bucket"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, local: Without
) -> Iterator[tuple[Workspace, Workspace]]:
    """One store, read by the cluster and in this process: seven segments, one of them with deleted documents.

    Where they lie in a bucket, the actors have another cache than this process.
    """
    folder = tmp_path_factory.mktemp("cluster")
    segments = None
    if request.param == "bucket":
        segments = bucket_segments(f"file://{folder}/mount", folder / "front")
        BUCKETS[segments.root] = SegmentsOptions(folder / "node", f"file://{folder}/mount", 2**30)
    with workspace_at(folder, CLUSTER, segments) as clustered, workspace_at(folder, local, segments) as single:
        for number in range(7):
            single.index(list(documents(42))[6 * number : 6 * number + 6], merge=False)
        with lease(single.catalog, "c") as held:
            remove(single.catalog, held, ["d001", "d004"])
        assert len(single.store.snapshot("c").views) == 7
        yield clustered, single


def answered(workspace: Workspace, mode: str = "best_span", **options: Any) -> SearchAnswer:
    (answer,) = workspace.service.search(SearchRequest("c", mode=mode, **options))
    return replace(answer, took_ms=0.0)


@pytest.mark.parametrize("mode", get_args(ModeName))
def test_every_mode_answers_as_one_process(both: tuple[Workspace, Workspace], mode: ModeName) -> None:
    clustered, single = both
    for request in [*REQUESTS, *(OF_SPANS if single.service.modes[mode].presented.unit == "span" else [])]:
        assert answered(clustered, mode, **request) == answered(single, mode, **request)


def test_a_batch_is_answered_as_by_one_process(both: tuple[Workspace, Workspace]) -> None:
    requests = [SearchRequest("c", text=" ".join(WORDS[at : at + 3])) for at in range(8)]
    answers = [[replace(each, took_ms=0.0) for each in of.service.search(*requests)] for of in both]
    assert answers[0] == answers[1]


def test_previews_and_lists_are_those_of_one_process(both: tuple[Workspace, Workspace]) -> None:
    request = PreviewRequest(collection="c", phrases=("the parcel never came", "cancel"), threshold=0.4)
    clustered, single = (replace(each.thresholds.preview(request), took_ms=0.0) for each in both)
    assert clustered == single
    assert both[0].reader.list("c", filter=Filter({"lang": "fr"})) == both[1].reader.list(
        "c", filter=Filter({"lang": "fr"})
    )


@pytest.mark.parametrize("mode", get_args(ModeName))
def test_what_a_mining_reads_is_what_one_process_reads(both: tuple[Workspace, Workspace], mode: ModeName) -> None:
    found = []
    for workspace in both:
        requests = [SearchRequest("c", text=text, mode=mode, threshold=0.5) for text in ("the parcel", "slow again")]
        encoded = encode([workspace.service.prepare(request) for request in requests])
        prepared, queries = encoded[0].prepared, [each.query for each in encoded]
        selection, terms = replace(prepared.selection, top_k=EVERYTHING), [each.prepared.terms for each in encoded]
        found.append(literal.search(prepared.snapshot, prepared.mode, queries, terms, selection, exhaustive=True))
    assert [each.rows for each in found[0]] == [each.rows for each in found[1]]
    assert any(each.rows for each in found[0])


def test_actors_that_are_killed_all_the_time_make_no_answer_wrong(
    both: tuple[Workspace, Workspace], local: Without
) -> None:
    clustered, single = both
    whole = [answered(single, **request) for request in REQUESTS[:1]]
    stop, kills = threading.Event(), 0

    def kill() -> None:
        nonlocal kills
        import ray

        rng = random.Random(3)
        while not stop.wait(0.4):
            ready = [peer for peer in CLUSTER.actors if peer.state is State.READY]
            if len(ready) > 1:  # else others have not come back yet, however long that takes
                ray.kill(rng.choice(ready).handle, no_restart=False)
                kills += 1

    killer = threading.Thread(target=kill)
    killer.start()
    lacked = failed = asked = 0
    try:
        # A busy machine may start an actor so late that the other is killed before anything has been answered whole.
        while killer.is_alive() and (asked < QUERIES or kills < 5 or failed + lacked == asked):
            asked += 1
            try:
                answer = answered(clustered, **REQUESTS[0])
            except SegmentsUnreachable:
                failed += 1
                continue
            if answer.degraded is None:
                assert answer == whole[0]
                continue
            lacked += 1
            local.lack(frozenset(each.split()[1] for each in answer.degraded))
            assert replace(answer, degraded=None) == replace(answered(single, **REQUESTS[0]), degraded=None)
    finally:
        stop.set()
        killer.join()
        local.lack(frozenset())
    assert kills >= 5
    assert failed + lacked < asked
    until(lambda: is_answered(clustered, whole[0]), PATIENCE_S)
    until(lambda: all(peer.state is State.READY for peer in CLUSTER.actors), PATIENCE_S)


def is_answered(workspace: Workspace, expected: SearchAnswer) -> bool:
    with suppress(SegmentsUnreachable):
        return answered(workspace, **REQUESTS[0]) == expected
    return False


def test_a_drained_actor_is_asked_no_more_and_then_again(both: tuple[Workspace, Workspace]) -> None:
    clustered, single = both
    expected = answered(single, **REQUESTS[0])
    name = drained(CLUSTER.actors[0], draining=True)
    assert {member.name: member.state for member in CLUSTER.members()}[name] == "drained"
    asked = {member.name: member.answered for member in CLUSTER.members()}
    assert answered(clustered, **REQUESTS[0]) == expected
    assert {member.name: member.answered for member in CLUSTER.members()}[name] == asked[name]
    drained(CLUSTER.actors[0], draining=False)
    assert answered(clustered, **REQUESTS[0]) == expected


def drained(peer: Peer, *, draining: bool) -> str:
    from spanseek_ray.administration import drain, status

    options = CLUSTER.options
    assert peer.name in {actor.name for actor in status(options)}
    assert drain(options, peer.name, draining=draining) == [peer.name]
    until(lambda: peer.state is (State.DRAINED if draining else State.READY), PATIENCE_S)
    states = {actor.name: actor.state for actor in status(options)}
    assert states[peer.name] == ("draining" if draining else "ready")
    return peer.name
