"""What was acknowledged is kept through every error, and tried again; only a refusal or a cancellation ends it."""

import errno
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from app.collections.documents import DocumentService
from app.collections.jobs import CollectionJobs
from app.collections.service import CollectionService
from app.services import Services, open_store
from app.settings import Settings
from app.tasks import context, uploads, worker
from app.tasks.answers import TaskDescription
from app.tasks.service import TaskService
from app.tasks.spool import ResultWriter
from app.tasks.worker import TaskWorkers
from indexer.catalog.claims import claim_task, release_task
from indexer.catalog.leases import lease
from indexer.errors import CatalogUnavailable, CollectionBusy, RecipeMismatch, SegmentCorrupt
from indexer.sources import formats
from indexer.sources.layout import Layout
from models.errors import BackboneMissing
from tests.integration.conftest import ManualClock

LINES = b"".join(b'{"id": "d%d", "text": "line %d"}\n' % (n, n) for n in range(5))
TABLE = b"id,text\n" + b"".join(b"d%d,line %d\n" % (n, n) for n in range(5))


class Panic(BaseException):
    """As compiled libraries raise it."""


def _full() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


ERRORS: list[tuple[BaseException, str]] = [
    (OSError(errno.ENOSPC, "No space left on device"), "storage_full"),
    (_full(), "storage_full"),
    (OSError(errno.EMFILE, "Too many open files"), "resources_exhausted"),
    (MemoryError(), "resources_exhausted"),
    (OSError(errno.EIO, "Input/output error"), "storage_failed"),
    (KeyError("a text"), "internal_error"),
    (Panic("a text"), "internal_error"),
    (SegmentCorrupt("A segment is damaged."), "segment_corrupt"),
    (RecipeMismatch("The weights are others."), "recipe_mismatch"),
    (BackboneMissing("There is no model."), "backbone_missing"),
    (CatalogUnavailable("The catalog does not answer."), "catalog_unavailable"),
    (CollectionBusy("Somebody writes."), "collection_busy"),
]
PLACES = {
    "preparing": (CollectionJobs, "prepare"),
    "opening results": (ResultWriter, "__init__"),
    "reading": (uploads, "read_ndjson"),
    "indexing": (DocumentService, "upsert"),
    "writing results": (ResultWriter, "append"),
    "moving the checkpoint": (context, "record_progress"),
    "tidying": (DocumentService, "tidy"),
}


class Server:
    """The services and a worker that takes one turn at a time, on a clock that only moves when told to."""

    def __init__(self, settings: Settings, clock: ManualClock) -> None:
        self.clock = clock
        self.store = open_store(settings)
        self.store.catalog.clock = clock
        self.services = Services(settings, self.store)
        self.workers = TaskWorkers(self.services, self.services.get(TaskService), threads=0, keep_days=1)

    def upload(self, body: bytes = LINES, format: Any = "ndjson", collection: str = "c", name: str = "") -> str:
        upload = self.services.get(TaskService).upload(collection, format, len(body), name=name)
        upload.begin()
        upload.write(body)
        return upload.finish().id

    def turn(self, id: str) -> TaskDescription:
        self.workers.turn()
        return self.services.get(TaskService).get(id)

    def bodies(self) -> int:
        return len(list((self.store.data_dir / "tasks").glob("*/body.*")))

    def documents(self, collection: str = "c") -> int:
        return self.store.catalog.collection(collection).documents


@pytest.fixture
def server(url: str, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(context, "_BUSY_S", 0.0)
    folder = tmp_path / "data"
    folder.mkdir()
    made = Server(Settings(_env_file=None, data_dir=folder, encoder="hashing", database_url=url, grace_s=0.0), clock)
    for name in ("c", "other"):
        made.services.get(CollectionService).create(name)
    yield made
    made.store.close()


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


CASES = [("indexing", error, code) for error, code in ERRORS] + [(place, *ERRORS[0]) for place in PLACES]


@pytest.mark.parametrize(
    ("place", "error", "code"), CASES, ids=[f"{place}-{type(error).__name__}-{code}" for place, error, code in CASES]
)
def test_an_upload_outlives_every_error_at_every_step(server: Server, monkeypatch, place, error, code) -> None:
    began, id = server.clock(), server.upload()
    with monkeypatch.context() as patched:
        patched.setattr(*PLACES[place], raising(error))
        for failures, pause in ((1, 1), (2, 2), (3, 4)):
            waiting = server.turn(id)
            assert (waiting.status, server.bodies()) == ("queued", 1)
            assert waiting.waiting is not None
            assert (waiting.waiting.code, waiting.starts) == (code, failures)
            assert (waiting.waiting.next_try - server.clock()).total_seconds() == pause
            assert waiting.waiting.since == began
            assert "a text" not in waiting.waiting.detail
            assert server.workers.turn() > 0, "it was tried again before its time"
            server.clock.advance(pause)
    done = server.turn(id)
    assert (done.status, done.waiting, done.error, server.bodies()) == ("done", None, None, 0)
    assert sum(done.counts.values()) == server.documents() == 5
    lines = b"".join(server.services.get(TaskService).results(id)).splitlines()
    assert len(lines) == 5


@pytest.mark.parametrize("rows", [0, 2])
def test_a_table_that_cannot_be_read_for_a_while_is_not_refused(server: Server, monkeypatch, rows: int) -> None:
    real = Layout.rows

    def failing(layout: Layout, file: Any) -> Iterator[Any]:
        with closing(file):
            yield from islice(real(layout, file), rows)
            raise OSError(errno.EMFILE, "Too many open files")

    id = server.upload(TABLE, "csv")
    with monkeypatch.context() as patched:
        patched.setattr(Layout, "rows", failing)
        waiting = server.turn(id)
    assert (waiting.waiting and waiting.waiting.code, waiting.errors, server.bodies()) == ("resources_exhausted", (), 1)
    server.clock.advance(1)
    assert server.turn(id).counts == {"indexed": 5, "unchanged": 0, "failed": 0}


@pytest.mark.parametrize(("error", "code"), [each for each in ERRORS if isinstance(each[0], OSError | MemoryError)])
def test_a_file_that_cannot_be_read_for_a_while_is_not_refused(server: Server, monkeypatch, error, code) -> None:
    id = server.upload(b"The fee is due.", "txt", name="fees.txt")
    with monkeypatch.context() as patched:
        patched.setitem(formats.READERS, ".txt", lambda reading: iter([(1, raising(error))]))
        waiting = server.turn(id)
    assert (waiting.waiting and waiting.waiting.code, waiting.errors, server.bodies()) == (code, (), 1)
    server.clock.advance(1)
    assert server.turn(id).counts == {"indexed": 1, "unchanged": 0, "failed": 0}


@pytest.mark.parametrize(("body", "format"), [(b"a,b\n1,2\n", "csv")])
def test_a_body_that_is_refused_ends(server: Server, body: bytes, format: str) -> None:
    ended = server.turn(server.upload(body, format))
    assert (ended.status, ended.error and ended.error.code, server.bodies()) == ("failed", "source_unreadable", 0)


def test_an_upload_that_waits_is_cancelled_at_once_and_blocks_no_other_collection(server: Server, monkeypatch) -> None:
    poison = server.upload()
    with monkeypatch.context() as patched:
        patched.setattr(uploads, "read_ndjson", raising(RecursionError()))
        server.turn(poison)
    healthy, behind = server.upload(collection="other"), server.upload()
    assert server.turn(healthy).status == "done"
    assert server.turn(behind).status == "queued", "documents of the older upload would replace newer ones"
    assert server.services.get(TaskService).cancel(poison).status == "cancelled"
    assert server.bodies() == 1
    assert server.turn(behind).status == "done"


def test_a_reindexing_passes_the_upload_that_waits_for_it(server: Server, monkeypatch) -> None:
    id = server.upload()
    with monkeypatch.context() as patched:
        patched.setattr(CollectionJobs, "prepare", raising(RecipeMismatch("The weights are others.")))
        server.turn(id)
    reindexing = server.services.get(TaskService).add("reindex", "c", {"longest": 4})
    assert server.turn(reindexing.id).status == "done"
    server.clock.advance(1)
    assert server.turn(id).status == "done"


def test_tasks_whose_collections_others_hold_give_their_workers_back(server: Server) -> None:
    catalog = server.store.catalog
    with lease(catalog, "c"):
        held = [server.upload(), server.services.get(TaskService).add("optimize", "c", {}).id]
        held.append(server.services.get(TaskService).add("reindex", "c", {"longest": 4}).id)
        for _ in held:
            server.workers.turn()
        states = [server.services.get(TaskService).get(id) for id in held]
        assert [each.waiting and each.waiting.code for each in states] == ["collection_busy"] * 3
        assert server.turn(server.upload(collection="other")).status == "done"
    for _ in held:
        server.clock.advance(2)
        server.workers.turn()
    assert [server.services.get(TaskService).get(id).status for id in held] == ["done"] * 3


def test_a_reindexing_that_waits_and_is_cancelled_leaves_nothing(server: Server) -> None:
    server.turn(server.upload())
    with lease(server.store.catalog, "c"):
        id = server.services.get(TaskService).add("reindex", "c", {"longest": 4}).id
        assert server.turn(id).status == "queued"
        assert len(server.store.catalog.collections()) == 3
        assert server.services.get(TaskService).cancel(id).cancel_requested
        assert server.turn(id).status == "cancelled"
    assert [each.name for each in server.store.catalog.collections()] == ["c", "other"]


def test_other_work_ends_by_an_error_that_does_not_pass(server: Server, monkeypatch) -> None:
    monkeypatch.setattr(CollectionJobs, "optimize", raising(SegmentCorrupt("A segment is damaged.")))
    assert server.turn(server.services.get(TaskService).add("optimize", "c", {}).id).status == "failed"
    monkeypatch.setattr(CollectionJobs, "optimize", raising(KeyError("a text")))
    id = server.services.get(TaskService).add("optimize", "c", {}).id
    tries = 0
    while (task := server.turn(id)).status == "queued":
        tries += 1
        server.clock.advance(300)
    assert (tries, task.starts, task.status) == (7, 8, "failed")
    assert (task.error and task.error.code, task.waiting) == ("internal_error", None)


def test_a_claim_outlives_beats_that_fail(server: Server, monkeypatch) -> None:
    id = server.upload()
    claim = claim_task(server.store.catalog)
    assert claim is not None
    with monkeypatch.context() as patched:
        patched.setattr(worker, "renew_claim", raising(OSError(errno.EMFILE, "Too many open files")))
        assert server.workers._beat(claim, threading.Event())
    release_task(server.store.catalog, claim)
    assert server.turn(id).status == "done"


def test_the_end_of_a_task_that_the_catalog_does_not_hear_of_is_repeated(server: Server, monkeypatch) -> None:
    id = server.upload()
    with monkeypatch.context() as patched:
        patched.setattr(worker, "finish_task", raising(CatalogUnavailable("The catalog does not answer.")))
        patched.setattr(worker, "retry_task", raising(CatalogUnavailable("The catalog does not answer.")))
        with pytest.raises(CatalogUnavailable):
            server.workers.turn()
    assert server.bodies() == 1
    server.clock.advance(31)
    assert server.turn(id).status == "done"
    assert (server.documents(), server.bodies()) == (5, 0)
