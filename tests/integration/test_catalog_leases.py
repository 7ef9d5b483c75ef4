"""One writer per collection, and what becomes of a writer that is too late."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import psutil
import pytest
from sqlalchemy import text

from indexer.catalog.leases import holding, lease, this_process
from indexer.catalog.publish import remove
from indexer.errors import CatalogUnavailable, CollectionBusy, CollectionNotFound, LeaseLost
from indexer.types import Recipe


@pytest.fixture(autouse=True)
def collection(catalog):
    return catalog.create_collection("calls", Recipe("hashing", "f1", 64))


def rows(catalog):
    with catalog.database.read() as connection:
        return connection.execute(text("SELECT holder, token FROM leases")).all()


def test_a_held_lease_says_who_holds_it_and_until_when(catalog):
    message = r"the night job.*2024-05-17T12:01:00\+00:00"
    with lease(catalog, "calls", holder="the night job", ttl=60) as held:
        with pytest.raises(CollectionBusy, match=message), lease(catalog, "calls"):
            pass
        assert [row.token for row in rows(catalog)] == [held.token]


def test_it_is_free_when_the_block_ends(catalog):
    for _ in range(2):
        with lease(catalog, "calls") as held:
            assert [row.token for row in rows(catalog)] == [held.token]
        assert rows(catalog) == []


def test_it_is_free_when_the_block_raises(catalog):
    with pytest.raises(KeyboardInterrupt), lease(catalog, "calls"):
        raise KeyboardInterrupt
    assert rows(catalog) == []


def test_the_holder_is_this_process(catalog):
    with lease(catalog, "calls") as held:
        assert held.holder == rows(catalog)[0].holder == this_process()
        assert held.holder.startswith(f"{socket.gethostname()}:{os.getpid()}:")


def test_collections_have_leases_of_their_own(catalog):
    catalog.create_collection("contracts", Recipe("hashing", "f1", 64))
    with lease(catalog, "calls"), lease(catalog, "contracts"):
        assert len(rows(catalog)) == 2


def test_an_unknown_collection_has_none(catalog):
    with pytest.raises(CollectionNotFound), lease(catalog, "contracts"):
        pass


def test_a_lease_must_last(catalog):
    with pytest.raises(ValueError, match="longer"), lease(catalog, "calls", ttl=0):
        pass


def test_an_expired_lease_is_taken_over_and_its_holder_is_refused(catalog, clock, put):
    with lease(catalog, "calls", ttl=30) as slow:
        clock.advance(30)
        with lease(catalog, "calls") as fast:
            for attempt in (lambda: put(catalog, slow, "a"), lambda: remove(catalog, slow, ["a"])):
                with pytest.raises(LeaseLost, match="calls") as caught:
                    attempt()
                assert caught.value.hint
            assert catalog.generation("calls") == 0
            assert put(catalog, fast, "b") == 1
            assert catalog.content_hashes("calls", "ab") == {"b": "h"}
    assert rows(catalog) == []


def test_the_end_of_a_lost_lease_does_not_free_the_new_one(catalog, clock):
    slow = lease(catalog, "calls", ttl=30)
    slow.__enter__()
    clock.advance(31)
    with lease(catalog, "calls") as fast:
        slow.__exit__(None, None, None)
        assert [row.token for row in rows(catalog)] == [fast.token]


def test_an_expired_lease_is_lost_even_if_nobody_took_it(catalog, clock, put):
    with lease(catalog, "calls", ttl=30) as held:
        clock.advance(30)
        with pytest.raises(LeaseLost):
            put(catalog, held, "a")
    assert catalog.generation("calls") == 0


def test_each_publish_renews_the_lease(catalog, clock, put):
    with lease(catalog, "calls", ttl=30) as held:
        for generation in (1, 2, 3):
            clock.advance(29)
            assert put(catalog, held, "a") == generation


def test_a_transaction_longer_than_the_lease_keeps_it(catalog, clock, put):
    """Also while heartbeats wait for its end: they may not renew the lease as of the time before."""
    with lease(catalog, "calls", ttl=0.03) as held:
        for generation in (1, 2):
            with holding(catalog, held):
                Event().wait(0.1)
                clock.advance(100)
            assert _eventually(lambda: _expiry(catalog) > str(clock.now.replace(tzinfo=None)))
            assert put(catalog, held, "a") == generation


def test_a_heartbeat_renews_the_lease(catalog, clock):
    with lease(catalog, "calls", ttl=0.03):
        first = _expiry(catalog)
        clock.advance(0.02)
        assert _eventually(lambda: _expiry(catalog) > first)


def test_the_heartbeat_outlives_a_database_that_does_not_answer(catalog, clock, monkeypatch, caplog):
    failed = Event()
    with lease(catalog, "calls", ttl=0.03):
        first = _expiry(catalog)
        with monkeypatch.context() as patch:
            patch.setattr(catalog.database, "write", lambda: _fail(failed))
            assert failed.wait(10)
        clock.advance(0.02)
        assert _eventually(lambda: _expiry(catalog) > first)
    assert "will try again" in caplog.text


def test_the_heartbeat_says_that_the_lease_is_lost(catalog, clock, caplog):
    with lease(catalog, "calls", ttl=0.03):
        clock.advance(1)
        assert _eventually(lambda: "lost the lease on calls" in caplog.text)


def test_a_lease_that_cannot_be_given_back_does_not_hide_success(catalog, monkeypatch, caplog):
    with lease(catalog, "calls"):
        monkeypatch.setattr(catalog.database, "write", lambda: _fail(Event()))
    assert "could not release" in caplog.text


def test_of_those_who_race_for_it_one_gets_it(catalog):
    start, done = Barrier(4), Barrier(4)

    def take(_):
        start.wait(10)
        try:
            with lease(catalog, "calls"):
                done.wait(10)
                return True
        except CollectionBusy:
            done.wait(10)
            return False

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(take, range(4))) == [False, False, False, True]


def test_the_lease_of_a_dead_process_is_free_at_once(catalog):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with child:
        start = psutil.Process(child.pid).create_time() - psutil.boot_time()
        abandoned = lease(catalog, "calls", holder=f"{socket.gethostname()}:{child.pid}:{start:.2f}", ttl=9999)
        abandoned.__enter__()
        with pytest.raises(CollectionBusy), lease(catalog, "calls"):
            pass
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, but still in the list of processes
        with lease(catalog, "calls") as held:
            assert held.holder == this_process()
        abandoned.__exit__(None, None, None)


def test_the_lease_of_a_process_elsewhere_is_not(catalog):
    with lease(catalog, "calls", holder="elsewhere:999999:1.00") as held:
        with pytest.raises(CollectionBusy), lease(catalog, "calls"):
            pass
        assert rows(catalog)[0].holder == held.holder


def _expiry(catalog):
    with catalog.database.read() as connection:
        return str(connection.scalar(text("SELECT expires_at FROM leases")))


def _eventually(condition):
    pause = Event()
    return any(condition() or pause.wait(0.01) for _ in range(1000))


def _fail(failed):
    failed.set()
    raise CatalogUnavailable("gone fishing")
