"""Actors that read a bucket: each node fetches what its actors hold, and gives up what was removed or is not used."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.executor import Executor
from indexer.errors import SegmentsUnavailable
from indexer.indexing.maintenance import optimize
from indexer.segments.options import SegmentsOptions
from plugins.ray.tests.fake_cluster import FakeCluster, FakeHandle, FakeTransport
from spanseek_bucket import segments
from spanseek_ray import actor, asking
from spanseek_ray.shipment import Shipment
from tests.buckets import FaultyServer, broken, bucket_segments, cut, flipped, missing, of, quick_server
from tests.workspace import Workspace, document

PHRASE = "cancel my plan"


@pytest.fixture(scope="module")
def s3() -> Iterator[FaultyServer]:
    with quick_server() as server:
        yield server


class Site:
    """A front that has written three segments, and two actors of one node, which have fetched nothing."""

    def __init__(self, folder: Path, cache_bytes: int = 2**30) -> None:
        url = f"s3://bucket/{folder.name}"
        self.where = SegmentsOptions(folder / "node", url, cache_bytes)
        self.handles = FakeHandle(), FakeHandle()
        self.cluster = FakeCluster(*self.handles, ship=partial(Shipment.of, where=self.where))
        front = bucket_segments(url, folder / "front")
        self.clustered = Workspace(folder, executor=self.cluster, segments=front)
        self.single = Workspace(folder, executor=Executor(), segments=front)
        for id in "abc":
            self.single.index([document(id, f"Please {PHRASE}, {id}.", letter=id)], merge=False)

    @property
    def second(self) -> str:
        """The name of the segment with the document b."""
        (name,) = (view.name for view in self.single.store.snapshot("c").views if view.segment.document_id(0) == "b")
        return name

    def cached(self) -> set[str]:
        return {folder.name for folder in (self.where.folder / "collections").glob("*/*/")}

    def answer(self, text: str = PHRASE) -> SearchAnswer:
        return answered(self.clustered, text)

    def expected(self, text: str = PHRASE) -> SearchAnswer:
        return answered(self.single, text)

    def let_go(self) -> None:
        for handle in self.handles:
            handle.actor.let_go()

    def find(self) -> None:
        """What a look at the cluster does for missing segments."""
        for shipment in self.cluster.peers.missing:
            for peer in self.cluster.peers.holders(shipment.segment, self.cluster.peers.ready):
                if peer.handle.actor.hold([shipment]) == [None]:
                    peer.held.add(shipment.key)
                    self.cluster.peers.found(shipment)


def answered(workspace: Workspace, text: str) -> SearchAnswer:
    (answer,) = workspace.service.search(SearchRequest("c", text=text))
    return replace(answer, took_ms=0.0)


@pytest.fixture
def patched(s3: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeTransport()
    monkeypatch.setattr(asking, "transport", fake)
    monkeypatch.setattr(asking, "time", fake)


@pytest.fixture
def site(patched: None, tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with made.clustered, made.single:
        yield made


def test_a_node_fetches_once_what_its_actors_hold(site: Site, s3: FaultyServer) -> None:
    s3.requests.clear()
    assert site.answer() == site.expected()
    assert site.cached() == site.single.live()
    fetched = [path for method, path in s3.requests if method == "GET" and "collections/" in path]
    assert len(fetched) == len(set(fetched)) > 0
    s3.requests.clear()
    assert site.answer("Please") == site.expected("Please")
    assert s3.requests == []


def test_what_was_removed_from_the_bucket_goes_from_the_node(site: Site) -> None:
    site.answer()
    before = site.single.live()
    with lease(site.single.catalog, "c") as held:
        remove(site.single.catalog, held, ["a"])
        optimize(site.single.store, held, lambda _: None)
    assert site.answer() == site.expected()
    assert site.cached() == before | site.single.live()
    site.let_go()
    assert site.cached() == site.single.live()
    assert sum(handle.actor.figures().segments for handle in site.handles) == len(site.single.live())


def test_a_bucket_that_does_not_answer_takes_nothing_from_a_node(site: Site, s3: FaultyServer) -> None:
    whole = site.answer()
    with s3.failing(broken):
        site.let_go()
        assert site.answer() == whole
    assert site.cached() == site.single.live()


@pytest.mark.parametrize("fault", [missing, flipped])
def test_a_damaged_object_is_left_out_until_it_is_whole(
    site: Site, s3: FaultyServer, monkeypatch: pytest.MonkeyPatch, fault
) -> None:
    name = site.second
    with s3.failing(of("GET", fault, f"{name}/vectors.i8")):
        lacking = site.answer()
        assert len(lacking.degraded) == 1
        assert name in lacking.degraded[0]
        assert "vectors.i8" in lacking.degraded[0]
        assert {hit.document_id for hit in lacking.hits} == {
            hit.document_id for hit in site.expected().hits if hit.document_id != "b"
        }
        before = len(s3.requests)
        site.find()
        assert len(s3.requests) == before, "it is not fetched with every look"
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + segments.AGAIN_S, sleep=time.sleep)
    monkeypatch.setattr("indexer.segments.opened.time", later)
    site.find()
    assert site.answer() == site.expected()


@pytest.mark.parametrize("fault", [broken, cut])
def test_a_bucket_that_is_cut_while_an_actor_fetches(site: Site, s3: FaultyServer, fault) -> None:
    name = site.second
    with s3.failing(of("GET", fault, f"{name}/vectors.i8")):
        lacking = site.answer()
        assert [name in each for each in lacking.degraded] == [True]
        site.find()
        assert site.answer().degraded
    site.find()
    assert site.answer() == site.expected()


def test_what_one_node_cannot_open_another_does(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    unable = site.handles[0].actor
    real = unable.hold
    refusal = SegmentsUnavailable("Its way to the bucket is cut.", hint="Look at its network.")
    monkeypatch.setattr(unable, "hold", lambda shipments: [refusal for _ in shipments])
    assert site.answer() == site.expected()
    assert site.cluster.reach == 0
    assert unable.figures().segments == 0
    monkeypatch.setattr(unable, "hold", real)


def test_what_nobody_asks_for_goes_where_the_cache_is_too_small(
    patched: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, cache_bytes=1)
    with site.clustered, site.single:
        assert site.answer() == site.expected()
        site.let_go()
        assert site.cached() == site.single.live(), "it was asked for just now"
        monkeypatch.setattr(actor, "_IDLE_S", -1.0)
        site.let_go()
        assert site.cached() == set()
        assert site.answer() == site.expected()
