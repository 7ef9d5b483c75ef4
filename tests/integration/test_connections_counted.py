"""How many transactions of the catalog a document costs: one a step, and no more as the code grows."""

from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from app.collections.documents import DocumentService
from app.collections.service import CollectionService
from app.services import Services, open_store
from app.settings import Settings
from app.tasks.service import TaskService
from app.tasks.worker import TaskWorkers
from indexer.catalog.database import Database
from indexer.catalog.schema import upgrade
from tests.workspace import document

BODY = b'{"id": "a", "text": "one line"}\n'


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The connections that this thread takes, by what for: leases and claims are renewed by others in time."""
    taken: list[str] = []
    connected, own = Database._connected, get_ident()

    def counting(self: Database, mode: str) -> Any:
        if get_ident() == own:
            taken.append(mode)
        return connected(self, mode)

    monkeypatch.setattr(Database, "_connected", counting)
    for seconds in ("indexer.freshness.FRESH_S", "app.tasks.service._RENEWAL_S"):
        monkeypatch.setattr(seconds, 600.0)  # a slow machine would look again, and renew
    return taken


@pytest.fixture
def services(tmp_path: Path) -> Any:
    settings = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", grace_s=0.0)
    upgrade(settings.catalog_url)
    store = open_store(settings)
    made = Services(settings, store)
    made.get(CollectionService).create("c")
    yield made
    store.catalog.close()


def test_a_document_is_written_and_tidied_in_a_dozen_transactions(services: Services, counted: list[str]) -> None:
    documents: DocumentService = services.get(DocumentService)
    documents.upsert("c", [document("a", "One document.")])
    # The collection, lease, sweep, hashes, phrases, publish, release.
    assert len(counted) <= 7
    counted.clear()
    documents.tidy("c", lambda: False)
    # The collection, lease, what is live, sweep, release.
    assert len(counted) <= 5
    counted.clear()
    documents.delete("c", ["a"])
    # The collection, lease, sweep, deletion, release.
    assert len(counted) <= 5


def test_an_upload_of_one_line_is_received_and_indexed_in_some_two_dozen(
    services: Services, counted: list[str]
) -> None:
    upload = services.get(TaskService).upload("c", "ndjson", len(BODY))
    upload.begin()
    upload.write(BODY)
    upload.finish()
    assert len(counted) <= 4
    counted.clear()
    workers = TaskWorkers(services, services.get(TaskService), threads=0, keep_days=1)
    workers.turn()
    # Claiming, writing and tidying as above, progress, and whether the collection is there.
    assert len(counted) <= 26
    assert services.get(TaskService).get(upload.id).status == "done"
