"""What is deleted and purged is in no file of the data folder, whatever has read or written it before."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from app.collections.documents import DocumentService
from app.collections.exporting import document_line
from app.collections.jobs import CollectionJobs
from app.collections.snapshots import SnapshotService
from app.services import Services
from app.tasks.service import TaskService
from app.tasks.worker import TaskWorkers
from indexer.archives.create import create_archive
from indexer.catalog.leases import lease
from indexer.errors import TextNotStored
from indexer.indexing.maintenance import optimize, purge
from indexer.phrases import PhraseDraft
from models.types import Document, Part
from tests.byte_restorer import ByteRestorer
from tests.faults.operations import SNAPSHOT, run_tasks
from tests.faults.places import ON_SQLITE, PHRASE
from tests.workspace import Workspace

# An id, a text and a value of metadata that nothing else has.
CANARIES = (b"canary-id", b"canary-text", b"canary-value")
_FRAME = b"\x28\xb5\x2f\xfd"


def secret(number: int) -> Document:
    text = f"Call {number}: {PHRASE}, said the canary-text-{number}."
    return Document(f"canary-id-{number}", (Part(text),), {"who": f"canary-value-{number}"})


def remaining(folder: Path) -> set[tuple[str, bytes]]:
    """Files that hold a canary, also where it is packed, in UTF-16, or in the name of a file.

    Results of uploads hold ids, as is documented, and nothing else.
    """
    found = set()
    for path in folder.rglob("*"):
        bodies = [str(path).encode(), *_bodies(path)] if path.is_file() else [str(path).encode()]
        for canary in CANARIES:
            spellings = (canary, canary.decode().encode("utf-16-le"))
            may_have = path.name == "results.ndjson" and canary == b"canary-id"
            if not may_have and any(each in body for each in spellings for body in bodies):
                found.add((str(path.relative_to(folder)), canary))
    return found


def _bodies(path: Path) -> Iterator[bytes]:
    body = path.read_bytes()
    yield body
    if path.suffix == ".gz":
        yield gzip.decompress(body)
    start = body.find(_FRAME)
    while start >= 0:  # frames lie in segments and in snapshots of them
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(body[start:])
        except zstandard.ZstdError:
            yield b""
        start = body.find(_FRAME, start + 1)


def upload(services: Services, collection: str, documents: list[Document], *, packed: bool) -> str:
    receiving = services.get(TaskService).upload(collection, "ndjson", packed=packed)
    receiving.begin()
    body = b"".join(map(document_line, documents))
    receiving.write(gzip.compress(body) if packed else body)
    return receiving.finish().id


@pytest.fixture
def services(copies: Any) -> Iterator[Services]:
    with copies()() as place, place.services() as made:
        made.get(SnapshotService).delete("c", SNAPSHOT)
        yield made


@ON_SQLITE
def test_what_is_purged_is_nowhere(services: Services) -> None:
    """Documents came by requests and by uploads, were matched, changed, merged, mined and kept in a snapshot."""
    folder = services.store.data_dir
    services.get(DocumentService).upsert("c", [secret(number) for number in range(10)])
    upload(services, "c", [secret(number) for number in range(10, 30)], packed=False)
    upload(services, "c", [secret(number) for number in range(30, 40)], packed=True)
    run_tasks(services)
    services.get(DocumentService).change("c", "canary-id-3", {"who": "canary-value-changed"})
    services.get(CollectionJobs).optimize("c")
    snapshot = services.get(SnapshotService).create("c")
    request = {"collection": "c", "phrases": [{"name": "late", "text": PHRASE}], "threshold": 0.5}
    mining = services.get(TaskService).add("mine", "c", {"request": request})
    run_tasks(services)
    assert services.get(TaskService).get(mining.id).status == "done"
    assert {canary for _, canary in remaining(folder)} == set(CANARIES)
    gone = services.get(CollectionJobs).delete("c", [secret(number).id for number in range(40)], purged=True)
    assert gone.purged is not None
    told = " ".join(gone.purged.remains)
    assert snapshot.id in told
    assert mining.id in told
    left = {name for name, _ in remaining(folder)}
    assert f"snapshots/c/{snapshot.id}.tar" in left
    assert f"tasks/{mining.id}/hits.ndjson" in left
    assert all(snapshot.id in name or mining.id in name for name in left), left
    services.get(SnapshotService).delete("c", snapshot.id)
    TaskWorkers(services, services.get(TaskService), threads=0, keep_days=0)._sweep()
    assert remaining(folder) == set()
    again = services.get(CollectionJobs).purge("c")
    assert again.remains == ()


@ON_SQLITE
def test_an_upload_that_waits_is_named(services: Services) -> None:
    services.get(DocumentService).upsert("c", [secret(1)])
    waiting = upload(services, "c", [secret(1)], packed=False)
    gone = services.get(CollectionJobs).delete("c", [secret(1).id], purged=True)
    assert gone.purged is not None
    assert waiting in " ".join(gone.purged.remains)
    run_tasks(services)
    gone = services.get(CollectionJobs).delete("c", [secret(1).id], purged=True)
    assert gone.purged is not None
    assert gone.purged.remains == (), "it was named once"
    assert {name for name, _ in remaining(services.store.data_dir)} == set()


def test_a_collection_without_texts_has_none(tmp_path: Path) -> None:
    """Neither while it is written, matched and merged, nor in a snapshot, and a refused upload leaves none."""
    with Workspace(tmp_path, restorer=ByteRestorer(), store_text=False) as workspace:
        workspace.index([Document("a", (Part("The canary-text never sings."),), {})])
        workspace.phrases.add("c", PhraseDraft("sings", "the canary-text", threshold=0.9))
        workspace.index([Document("b", (Part("The canary-text is late."),), {})])
        with pytest.raises(TextNotStored):
            TaskService(workspace.store, backlog=10**6).upload("c", "ndjson").begin()
        workspace.phrases.delete("c", ["sings"])  # its own text is stored: it is erased with the next purge
        with lease(workspace.catalog, "c") as held:
            optimize(workspace.store, held)
            purge(workspace.store, held)
        create_archive(workspace.store, "c", tmp_path / "snapshot.tar")
        assert remaining(tmp_path) == set()
