"""One writer per collection, and what becomes of a writer that is too late."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Barrier, Event

import psutil
import pytest
from sqlalchemy import text

from indexer.catalog.leases import holding, lease, this_process
from indexer.catalog.publish import remove
from indexer.errors import CatalogUnavailable, CollectionBusy, CollectionNotFound, LeaseLost
from indexer.patience import Patience, later, refuse
from indexer.types import Recipe
from models.interruption import Interrupted, interruptible
from tests.waiting import PATIENCE_S, until


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
            until(lambda: _expiry(catalog) > str(clock.now.replace(tzinfo=None)))
            assert put(catalog, held, "a") == generation


def test_a_heartbeat_renews_the_lease(catalog, clock):
    with lease(catalog, "calls", ttl=0.03):
        first = _expiry(catalog)
        clock.advance(0.02)
        until(lambda: _expiry(catalog) > first)


def test_the_heartbeat_outlives_a_database_that_does_not_answer(catalog, clock, monkeypatch, caplog):
    failed = Event()
    with lease(catalog, "calls", ttl=0.03):
        first = _expiry(catalog)
        with monkeypatch.context() as patch:
            patch.setattr(catalog.database, "write", lambda: _fail(failed))
            assert failed.wait(PATIENCE_S)
        clock.advance(0.02)
        until(lambda: _expiry(catalog) > first)
    assert "will try again" in caplog.text


def test_the_heartbeat_says_that_the_lease_is_lost(catalog, clock, caplog):
    with lease(catalog, "calls", ttl=0.03):
        clock.advance(1)
        until(lambda: "lost the lease on calls" in caplog.text)


def test_a_lease_that_cannot_be_given_back_does_not_hide_success(catalog, monkeypatch, caplog):
    with lease(catalog, "calls"):
        monkeypatch.setattr(catalog.database, "write", lambda: _fail(Event()))
    assert "could not release" in caplog.text


def test_of_those_who_race_for_it_one_gets_it(catalog):
    assert sorted(_race(catalog)) == [False, False, False, True]


@pytest.mark.ci("processes that wait for each other")
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


@pytest.fixture
def outage(backend, catalog, monkeypatch, request):
    """``with outage():`` the catalog does not answer; connections of PostgreSQL are really cut and refused."""
    server = request.getfixturevalue("postgres") if backend == "postgresql" else None

    @contextmanager
    def of_postgres():
        allow = "ALTER DATABASE migrated WITH ALLOW_CONNECTIONS"
        server.execute(f"{allow} false")
        server.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'migrated'")
        try:
            yield
        finally:
            server.execute(f"{allow} true")

    @contextmanager
    def of_sqlite():
        with monkeypatch.context() as patch:
            patch.setattr(catalog.database, "write", lambda: _fail(Event()))
            yield

    return of_postgres if server else of_sqlite


def test_a_process_takes_back_its_own_lease_after_an_outage(catalog, outage, put, caplog):
    """The writer fails, and cannot release its lease; the next one of this process need not wait for its end."""
    with ExitStack() as stack:
        stack.enter_context(pytest.raises(CatalogUnavailable))
        with lease(catalog, "calls", ttl=9999) as failed:
            stack.enter_context(outage())
            put(catalog, failed, "a")
    assert "could not release" in caplog.text
    assert [row.token for row in rows(catalog)] == [failed.token]
    with lease(catalog, "calls") as held:
        assert put(catalog, held, "a") == 1
    assert rows(catalog) == []


def test_a_lease_lost_while_it_was_taken_is_taken_back(catalog, monkeypatch):
    """The commit went through, and its acknowledgement did not arrive."""
    real = catalog.database.write

    @contextmanager
    def unacknowledged():
        with real() as connection:
            yield connection
        raise CatalogUnavailable("gone fishing")

    with monkeypatch.context() as patch:
        patch.setattr(catalog.database, "write", unacknowledged)
        with pytest.raises(CatalogUnavailable), lease(catalog, "calls", ttl=9999):
            pass
    assert len(rows(catalog)) == 1
    with lease(catalog, "calls"):
        assert len(rows(catalog)) == 1


def test_an_outage_does_not_let_two_writers_of_a_process_in(catalog, outage, put):
    with lease(catalog, "calls", ttl=9999) as held:
        with outage(), pytest.raises(CatalogUnavailable):
            put(catalog, held, "a")
        with pytest.raises(CollectionBusy), lease(catalog, "calls"):
            pass
        assert put(catalog, held, "a") == 1


def test_of_those_who_race_for_an_abandoned_lease_one_gets_it(catalog, outage):
    _abandon(catalog, outage)
    assert len(rows(catalog)) == 1
    assert sorted(_race(catalog)) == [False, False, False, True]


@pytest.mark.ci("processes that wait for each other")
def test_an_abandoned_lease_is_not_free_to_other_processes(catalog, outage):
    failed = _abandon(catalog, outage)
    take = (
        "import sys\nfrom indexer.catalog.collections import Catalog\nfrom indexer.catalog.leases import lease\n"
        "from indexer.errors import CollectionBusy\nfrom datetime import datetime, UTC\n"
        "catalog = Catalog(sys.argv[1], clock=lambda: datetime(2024, 5, 17, 12, tzinfo=UTC))\n"
        "try:\n    lease(catalog, 'calls').__enter__()\nexcept CollectionBusy:\n    print('busy')\n"
    )
    url = catalog.database.url.render_as_string(hide_password=False)
    done = subprocess.run([sys.executable, "-c", take, url], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == "busy\n", done.stderr
    assert [row.token for row in rows(catalog)] == [failed.token]


def _expiry(catalog):
    with catalog.database.read() as connection:
        return str(connection.scalar(text("SELECT expires_at FROM leases")))


def _abandon(catalog, outage):
    """Take a lease that cannot be released when its writer ends."""
    taken = lease(catalog, "calls", ttl=9999)
    held = taken.__enter__()
    with outage():
        taken.__exit__(None, None, None)
    return held


def _race(catalog):
    """Four threads take the lease at once: who got it."""
    start, done = Barrier(4), Barrier(4)

    def take(_):
        start.wait(PATIENCE_S)
        try:
            with lease(catalog, "calls"):
                done.wait(PATIENCE_S)
                return True
        except CollectionBusy:
            done.wait(PATIENCE_S)
            return False

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(take, range(4)))


def _fail(failed):
    failed.set()
    raise CatalogUnavailable("gone fishing")


def test_writers_wait_for_each_other(catalog):
    """Sixteen threads that would else refuse each other: each holds the lease alone, and none is refused."""
    catalog.patience = partial(Patience, PATIENCE_S)
    holders, most = [], []

    def write(number):
        for _ in range(3):
            with lease(catalog, "calls", holder=f"writer {number}"):
                holders.append(number)
                most.append(len(holders))
                holders.pop()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    assert most == [1] * 48
    assert rows(catalog) == []


def test_a_wait_for_a_lease_ends(catalog):
    catalog.patience = partial(Patience, 0.1)
    with lease(catalog, "calls", holder="the night job"):
        with pytest.raises(CollectionBusy, match="the night job"), lease(catalog, "calls"):
            pass
        with pytest.raises(CollectionBusy), lease(catalog, "calls", again=refuse):
            pass


def test_a_wait_for_a_lease_can_be_interrupted(catalog):
    catalog.patience = partial(Patience, 60)

    def end():
        raise Interrupted

    with (
        lease(catalog, "calls", holder="the night job"),
        pytest.raises(Interrupted),
        interruptible(end),
        lease(catalog, "calls"),
    ):
        pass


def test_those_who_wait_only_read(catalog, monkeypatch):
    """Behind the first try, one that finds the lease held begins no transaction that locks."""
    tries = iter([True, True, False])

    def again(error):
        monkeypatch.setattr(catalog.database, "write", lambda: pytest.fail("a transaction that writes"))
        return next(tries)

    with lease(catalog, "calls", holder="the night job"):
        with pytest.raises(CollectionBusy), lease(catalog, "calls", again=again):
            pass
        monkeypatch.undo()
    assert next(tries, None) is None


def test_who_has_waited_comes_before_who_comes_later(catalog, clock):
    """Neither a server that writes without end nor a third one passes; one that has come before does."""

    def takes(holder, again=later):
        with suppress(CollectionBusy), lease(catalog, "calls", holder=holder, again=again):
            return True
        return False

    with lease(catalog, "calls", holder="first"):
        assert not takes("second")
        clock.advance(0.1)
        assert not takes("third")
    assert takes("first")  # nobody has waited for long
    clock.advance(0.5)
    assert not takes("first")
    assert not takes("third")
    assert takes("second")
    assert not takes("first")
    assert takes("third")
    assert takes("first")


def test_a_place_ends_if_it_is_not_renewed(catalog, clock):
    with lease(catalog, "calls", holder="first"):
        for again in (later, refuse):
            with pytest.raises(CollectionBusy), lease(catalog, "calls", holder=f"{again.__name__}", again=again):
                pass
    clock.advance(1)
    with pytest.raises(CollectionBusy, match="later, which has waited"), lease(catalog, "calls", holder="first"):
        pass
    clock.advance(1)
    with lease(catalog, "calls", holder="first"):
        pass


def test_the_dead_do_not_wait(catalog, clock):
    dead = this_process().replace(f":{os.getpid()}:", ":999999:")
    with (
        lease(catalog, "calls", holder="first"),
        pytest.raises(CollectionBusy),
        lease(catalog, "calls", holder=dead, again=later),
    ):
        pass
    clock.advance(1)
    with lease(catalog, "calls", holder="first"):
        pass
