"""An upload that fails at any step returns its announced bytes to the backlog, at once or when the catalog answers."""

import errno
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.collections.service import CollectionService
from app.services import Services, open_store
from app.settings import Settings
from app.tasks import service
from app.tasks.service import TaskService, Upload
from app.tasks.spool import BodyWriter
from app.tasks.worker import TaskWorkers
from indexer.catalog import tasks
from indexer.catalog.tasks import NewTask, add_task, backlog, new_task_id
from indexer.errors import CatalogUnavailable, StorageFull, TaskBacklogFull

LIMIT = 100_000
LINE = b'{"id": "a", "text": "one line"}\n'
FULL = OSError(errno.ENOSPC, "No space left on device")
GONE = CatalogUnavailable("The catalog does not answer.")


@pytest.fixture
def services(url: str, tmp_path: Path) -> Iterator[Services]:
    folder = tmp_path / "data"
    folder.mkdir()
    settings = Settings(_env_file=None, data_dir=folder, encoder="hashing", database_url=url, task_backlog_bytes=LIMIT)
    store = open_store(settings)
    made = Services(settings, store)
    made.get(CollectionService).create("c")
    yield made
    store.close()


@pytest.fixture
def uploading(services: Services) -> TaskService:
    return services.get(TaskService)


def receive(uploading: TaskService) -> Upload:
    """What the server does with a body."""
    upload = uploading.upload("c", "ndjson", 60_000)
    try:
        upload.begin()
        upload.write(LINE)
        upload.finish()
    except BaseException:
        upload.abandon()
        raise
    return upload


def failing(error: Exception, real: Callable[..., Any] | None = None) -> Callable[..., Any]:
    def fail(*arguments: Any, **options: Any) -> Any:
        if real is not None:
            real(*arguments, **options)
        raise error

    return fail


def held(services: Services) -> int:
    return backlog(services.store.catalog)["receiving"].bytes


def folders(services: Services) -> list[Path]:
    return list((services.store.data_dir / "tasks").glob("*"))


STEPS = {
    "announcing": (service, "add_task", GONE, None),
    "announced, and unheard": (service, "add_task", GONE, service.add_task),
    "making the file": (BodyWriter, "__init__", FULL, None),
    "writing": (BodyWriter, "write", FULL, None),
    "growing": (service, "grow_task", TaskBacklogFull("The backlog is full."), None),
    "syncing": (BodyWriter, "finish", FULL, None),
    "closing": (BodyWriter, "close", FULL, BodyWriter.close),
    "queueing": (service, "received", GONE, None),
    "queued, and unheard": (service, "received", GONE, service.received),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_leaves_nothing(services: Services, uploading: TaskService, monkeypatch, step: str) -> None:
    place, name, error, real = STEPS[step]
    with monkeypatch.context() as patched:
        patched.setattr(place, name, failing(error, real))
        if step == "growing":
            patched.setattr(service, "_RENEWAL_S", -1.0)
        if step == "closing":
            patched.setattr(BodyWriter, "finish", failing(FULL))
        with pytest.raises(type(error)):
            receive(uploading)
    assert (held(services), folders(services), uploading.list().tasks) == (0, [], ())
    receive(uploading)
    with pytest.raises(TaskBacklogFull):
        add_task(services.store.catalog, new_task_id(), NewTask("upload", "c", "id", bytes=LIMIT), limit=LIMIT)


@pytest.mark.parametrize("again", ["by the next upload", "by the workers"])
@pytest.mark.parametrize("error", [GONE, StorageFull("There is no room.")], ids=["gone", "full"])
def test_what_cannot_be_forgotten_is_forgotten_when_the_catalog_answers(
    services: Services, uploading: TaskService, monkeypatch, again: str, error: Exception
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(BodyWriter, "write", failing(FULL))
        patched.setattr(service, "forget_task", failing(error))
        with pytest.raises(OSError, match="No space"):
            receive(uploading)
    assert held(services) == 60_000
    if again == "by the workers":
        TaskWorkers(services, uploading, threads=0, keep_days=1).look()
        assert (held(services), folders(services)) == (0, [])
    receive(uploading)
    assert held(services) == 0


def test_a_step_under_way_is_waited_for(uploading: TaskService, services: Services, monkeypatch) -> None:
    """The caller is gone while a thread still begins the upload."""
    entered, go_on = threading.Event(), threading.Event()
    real = BodyWriter.__init__

    def slow(*arguments: Any, **options: Any) -> None:
        entered.set()
        go_on.wait(60)
        real(*arguments, **options)

    monkeypatch.setattr(BodyWriter, "__init__", slow)
    upload = uploading.upload("c", "ndjson", 60_000)
    beginning = threading.Thread(target=upload.begin)
    beginning.start()
    entered.wait(60)
    abandoning = threading.Thread(target=upload.abandon)
    abandoning.start()
    go_on.set()
    beginning.join()
    abandoning.join()
    assert (held(services), folders(services)) == (0, [])


def test_bodies_of_a_server_that_died_take_no_room(services: Services, uploading: TaskService, monkeypatch) -> None:
    add_task(services.store.catalog, new_task_id(), NewTask("upload", "c", "id", bytes=60_000), limit=LIMIT,
             status="receiving")  # fmt: skip
    with pytest.raises(TaskBacklogFull):
        receive(uploading)
    monkeypatch.setattr(tasks, "is_dead", lambda holder: True)
    receive(uploading)
