"""The rows of tasks: claimed once, in order, one of a collection; taken over where a worker died."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from indexer.catalog import tasks
from indexer.catalog.collections import Catalog
from indexer.catalog.tasks import (
    ClaimLost,
    NewTask,
    add_task,
    backlog,
    cancel_task,
    claim_task,
    finish_task,
    forget_ended,
    get_task,
    grow_task,
    list_tasks,
    new_task_id,
    received,
    record_progress,
    release_task,
    renew_claim,
)
from indexer.errors import TaskBacklogFull, TaskNotFound
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
    monkeypatch.setattr(tasks, "is_dead", lambda holder: True)
    claim = claim_task(catalog)
    assert claim is not None
    release_task(catalog, claim, {"code": "storage_full", "detail": "", "hint": ""})
    assert (get_task(catalog, id).status, get_task(catalog, id).error) == (
        "queued", {"code": "storage_full", "detail": "", "hint": ""},
    )  # fmt: skip


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
