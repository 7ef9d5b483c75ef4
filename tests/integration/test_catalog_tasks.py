"""The rows of tasks: claimed once, in order, one of a collection; taken over where a worker died."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from indexer.catalog import claims
from indexer.catalog.claims import (
    Claim,
    claim_task,
    finish_task,
    record_progress,
    release_task,
    renew_claim,
    retry_task,
)
from indexer.catalog.collections import Catalog
from indexer.catalog.tasks import (
    ClaimLost,
    NewTask,
    add_task,
    backlog,
    cancel_task,
    forget_ended,
    get_task,
    grow_task,
    list_tasks,
    new_task_id,
    received,
)
from indexer.errors import StorageFull, TaskBacklogFull, TaskNotFound
from tests.integration.conftest import ManualClock

LIMIT = 100_000


def add(catalog: Catalog, target: str, kind: str = "optimize", size: int = 0) -> str:
    id = new_task_id()
    add_task(catalog, id, NewTask(kind, target, f"id of {target}", {"words": True}, size), limit=LIMIT)
    return id


def test_tasks_of_a_collection_run_in_order_and_one_at_a_time(catalog: Catalog) -> None:
    first, second, other = add(catalog, "a"), add(catalog, "a"), add(catalog, "b")
    one, two = claim_task(catalog), claim_task(catalog)
    assert one is not None
    assert two is not None
    assert (one.task.id, two.task.id, claim_task(catalog)) == (first, other, None)
    assert (one.options, one.task.starts, one.task.status) == ({"words": True}, 1, "running")
    record_progress(catalog, one, 3, 7, {"lines": 3})
    finish_task(catalog, one, "done", result={"segments": 1})
    done = get_task(catalog, first)
    assert (done.status, done.done, done.total, done.result) == ("done", 3, 7, {"segments": 1})
    following = claim_task(catalog)
    assert following is not None
    assert following.task.id == second
    assert [task.id for task in list_tasks(catalog, 10)] == [other, second, first]
    assert [task.id for task in list_tasks(catalog, 1, other, collections=["a"])] == [second]
    assert [task.id for task in list_tasks(catalog, 9, "~", kinds=["optimize"], statuses=["done"])] == [first]


def test_a_claim_that_is_not_renewed_is_taken_over_and_changes_nothing_more(
    catalog: Catalog, clock: ManualClock
) -> None:
    id = add(catalog, "a")
    lost = claim_task(catalog)
    assert lost is not None
    clock.advance(20)
    assert not renew_claim(catalog, lost)
    clock.advance(20)
    assert claim_task(catalog) is None
    clock.advance(20)
    record_progress(catalog, lost, 1, 2, {"lines": 1})
    new = claim_task(catalog)
    assert new is not None
    assert (new.task.id, new.task.starts, new.task.checkpoint) == (id, 2, {"lines": 1})
    for change in (
        lambda: renew_claim(catalog, lost),
        lambda: record_progress(catalog, lost, 2, 2, {}),
        lambda: finish_task(catalog, lost, "failed"),
        lambda: release_task(catalog, lost),
    ):
        with pytest.raises(ClaimLost):
            change()
    assert get_task(catalog, id).done == 1


def test_the_claim_of_a_process_that_ended_is_free_at_once(catalog: Catalog, monkeypatch) -> None:
    id = add(catalog, "a")
    assert claim_task(catalog)
    monkeypatch.setattr(claims, "is_dead", lambda holder: True)
    claim = claim_task(catalog)
    assert claim is not None
    assert (claim.task.id, claim.task.starts, claim.task.failures) == (id, 2, 1)


def claimed(catalog: Catalog) -> Claim:
    claim = claim_task(catalog)
    assert claim is not None
    return claim


def test_a_task_that_fails_is_left_alone_ever_longer_until_it_makes_progress(
    catalog: Catalog, clock: ManualClock
) -> None:
    id, began, pauses = add(catalog, "a", "upload"), clock(), []
    for _ in range(11):
        failed_at = clock()
        retry_at = retry_task(catalog, claimed(catalog), StorageFull("There is no room.", hint="Free some."))
        pauses.append((retry_at - failed_at).total_seconds())
        waiting = get_task(catalog, id)
        assert (waiting.status, waiting.waiting_since, waiting.retry_at) == ("queued", began, retry_at)
        assert waiting.error == {"code": "storage_full", "detail": "There is no room.", "hint": "Free some."}
        clock.advance(pauses[-1] - 0.5)
        assert claim_task(catalog) is None
        clock.advance(0.5)
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    claim = claimed(catalog)
    record_progress(catalog, claim, 5, 9, {})
    assert get_task(catalog, id).error is None
    began = clock()
    retry_at = retry_task(catalog, claim, StorageFull("There is no room."))
    assert ((retry_at - began).total_seconds(), get_task(catalog, id).waiting_since) == (1, began)
    clock.advance(1)
    finish_task(catalog, claimed(catalog), "done")
    ended = get_task(catalog, id)
    assert (ended.error, ended.waiting_since, ended.retry_at) == (None, None, None)


def test_progress_never_falls_back_and_repeating_it_is_none(catalog: Catalog, clock: ManualClock) -> None:
    id = add(catalog, "a", "snapshot")
    for failures in (0, 1, 2):
        claim = claimed(catalog)
        assert claim.task.failures == failures
        record_progress(catalog, claim, 5, 9, {})
        record_progress(catalog, claim, 2, 9, {})
        assert get_task(catalog, id).done == 5
        retry_task(catalog, claim, StorageFull("There is no room."))
        clock.advance(300)


def test_a_task_that_ends_its_process_is_left_alone_ever_longer(
    catalog: Catalog, clock: ManualClock, monkeypatch
) -> None:
    id, pauses = add(catalog, "a", "upload"), []
    monkeypatch.setattr(claims, "is_dead", lambda holder: False)
    for _ in range(4):
        claim = claimed(catalog)
        clock.advance(20)
        renew_claim(catalog, claim)  # the last sign of life
        died = clock()
        monkeypatch.setattr(claims, "is_dead", lambda holder: True)
        while (again := claim_task(catalog)) is None:
            clock.advance(0.5)
        pauses.append((clock() - died).total_seconds())
        release_task(catalog, again)
        monkeypatch.setattr(claims, "is_dead", lambda holder: False)
    assert pauses == [0, 1, 2, 4]
    waiting = get_task(catalog, id)
    assert (waiting.status, waiting.error and waiting.error["code"]) == ("queued", "interrupted")
    assert cancel_task(catalog, id).status == "cancelled"


def test_others_pass_a_task_that_waits_but_no_upload_passes_an_upload(catalog: Catalog, clock: ManualClock) -> None:
    failing = add(catalog, "a", "upload")
    later, merging, elsewhere = add(catalog, "a", "upload"), add(catalog, "a", "optimize"), add(catalog, "b", "upload")
    retry_task(catalog, claimed(catalog), StorageFull("There is no room."))
    assert [claimed(catalog).task.id, claimed(catalog).task.id, claim_task(catalog)] == [elsewhere, merging, None]
    assert cancel_task(catalog, failing).status == "cancelled"
    assert claim_task(catalog) is None  # one of a collection at a time
    assert get_task(catalog, later).status == "queued"


def test_the_collection_that_was_served_longest_ago_comes_first(catalog: Catalog, clock: ManualClock) -> None:
    for number in range(3):
        add(catalog, "many", "upload", number)
    single = add(catalog, "one", "upload")
    served = []
    for _ in range(4):
        clock.advance(1)
        claim = claimed(catalog)
        served.append(claim.task.collection)
        finish_task(catalog, claim, "done")
    assert served == ["many", "one", "many", "many"]
    assert get_task(catalog, single).status == "done"


def test_tries_that_failed_come_after_first_ones_unless_they_waited_for_long(
    catalog: Catalog, clock: ManualClock
) -> None:
    failing = add(catalog, "a", "upload")
    retry_task(catalog, claimed(catalog), StorageFull("There is no room."))
    clock.advance(2)
    release_task(catalog, claimed(catalog))  # both collections have been served
    retry_task(catalog, claimed(catalog), StorageFull("There is no room."))
    clock.advance(10)
    fresh = [add(catalog, "b", "upload") for _ in range(2)]
    first = claimed(catalog)
    assert first.task.id == fresh[0]
    finish_task(catalog, first, "done")
    clock.advance(300)
    assert claimed(catalog).task.id == failing


def test_of_some_kinds_a_worker_ends_what_was_begun_and_cancelled(catalog: Catalog, clock: ManualClock) -> None:
    begun, waiting = add(catalog, "a", "reindex"), add(catalog, "a", "reindex")
    retry_task(catalog, claimed(catalog), StorageFull("There is no room."))
    assert cancel_task(catalog, waiting, undone=["reindex"]).status == "cancelled"
    cancelled = cancel_task(catalog, begun, undone=["reindex"])
    assert (cancelled.status, cancelled.cancelled) == ("queued", True)
    claim = claimed(catalog)
    assert (claim.task.id, claim.task.cancelled) == (begun, True)


def test_every_task_is_claimed_once(catalog: Catalog) -> None:
    ids = [add(catalog, f"c{number}") for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        claims = [claim for claim in pool.map(lambda _: claim_task(catalog), range(12)) if claim]
    claims += [claim for claim in (claim_task(catalog) for _ in range(12)) if claim]
    assert sorted(claim.task.id for claim in claims) == ids


def test_a_cancelled_task_that_waits_ends_and_one_that_runs_hears_of_it(catalog: Catalog) -> None:
    running, waiting = add(catalog, "a"), add(catalog, "a")
    claim = claim_task(catalog)
    assert claim is not None
    assert cancel_task(catalog, waiting).status == "cancelled"
    assert cancel_task(catalog, running).status == "running"
    assert renew_claim(catalog, claim)
    finish_task(catalog, claim, "cancelled")
    assert cancel_task(catalog, running).status == "cancelled"
    with pytest.raises(TaskNotFound):
        cancel_task(catalog, "a\0b")


def test_the_backlog_counts_bodies_that_arrive_and_forgets_those_that_ended(catalog: Catalog) -> None:
    first = add(catalog, "a", size=60_000)
    with pytest.raises(TaskBacklogFull):
        add(catalog, "b", size=60_000)
    arriving = new_task_id()
    add_task(catalog, arriving, NewTask("upload", "b", "id of b"), limit=LIMIT, status="receiving")
    grow_task(catalog, arriving, 30_000, limit=LIMIT)
    with pytest.raises(TaskBacklogFull):
        grow_task(catalog, arriving, 50_000, limit=LIMIT)
    held = backlog(catalog)
    assert {status: (each.tasks, each.bytes) for status, each in held.items()} == {
        "receiving": (1, 30_000), "queued": (1, 60_000), "running": (0, 0)
    }  # fmt: skip
    assert (held["queued"].oldest, held["running"].oldest) == (get_task(catalog, first).created_at, None)
    assert [task.id for task in list_tasks(catalog, 10)] == [first]
    received(catalog, arriving, 35_000, 35_000, {"format": "ndjson"})
    claim = claim_task(catalog)
    assert claim is not None
    finish_task(catalog, claim, "done")
    assert backlog(catalog)["queued"].bytes == 35_000
    add(catalog, "b", size=60_000)


def test_old_tasks_and_bodies_that_stopped_arriving_are_forgotten(catalog: Catalog, clock: ManualClock) -> None:
    add(catalog, "a")
    claim = claim_task(catalog)
    assert claim is not None
    finish_task(catalog, claim, "done")
    arriving, waiting = new_task_id(), add(catalog, "a")
    add_task(catalog, arriving, NewTask("upload", "b", "id of b"), limit=LIMIT, status="receiving")
    assert forget_ended(catalog, clock() - timedelta(days=1)) == {claim.task.id: False, arriving: True, waiting: True}
    clock.advance(86_400)
    assert forget_ended(catalog, clock() - timedelta(days=1)) == {waiting: True}
    with pytest.raises(ClaimLost):
        grow_task(catalog, arriving, 10, limit=LIMIT)


def test_a_mining_runs_beside_what_writes_and_one_at_a_time(catalog: Catalog) -> None:
    first, second = add(catalog, "a", "mine"), add(catalog, "b", "mine")
    writing, later = add(catalog, "a"), add(catalog, "a")
    claimed = [claim_task(catalog) for _ in range(3)]
    assert [claim and claim.task.id for claim in claimed] == [first, writing, None]
    assert claimed[0] is not None
    finish_task(catalog, claimed[0], "done")
    following = claim_task(catalog)
    assert following is not None
    assert following.task.id == second
    assert claim_task(catalog) is None
    assert get_task(catalog, later).status == "queued"
