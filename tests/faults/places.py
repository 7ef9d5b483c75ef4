"""A store that is broken on purpose: where it lies, what is in it, and what lies about that nothing refers to."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.collections.documents import DocumentService
from app.collections.exporting import exported_documents
from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.collections.snapshots import SnapshotService
from app.phrases.service import PhraseService
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog.collections import live_document_ids
from indexer.catalog.schema import upgrade
from indexer.engine.query import Filter
from indexer.indexing.deletion import left_behind
from indexer.indexing.verification import verify_store
from indexer.phrases import PhraseDraft
from indexer.store import Store
from models.types import Document, Part

# The long form runs so many times as much; 0 is the short form, which the suite runs.
ROUNDS = int(os.environ.get("FAULT_ROUNDS", "0"))
# Power and disks fail below SQLite, which shares the folder; PostgreSQL is a machine of its own.
ON_SQLITE = pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
PHRASE = "the parcel is late"


def document(number: int, version: int = 0, **metadata: Any) -> Document:
    """One of some hundred documents; every third of them has a match of the phrase."""
    said = PHRASE if number % 3 == 0 else "all is well"
    return Document(f"d{number:03d}", (Part(f"Call {number}.{version}: {said}, they say."),), {"n": number, **metadata})


def documents(first: int, last: int, version: int = 0) -> list[Document]:
    return [document(number, version) for number in range(first, last)]


@dataclass(frozen=True)
class Place:
    """A data folder and the URL of its catalog; empty: SQLite in the folder."""

    folder: Path
    url: str = ""

    @property
    def settings(self) -> Settings:
        return Settings(
            _env_file=None,
            data_dir=self.folder,
            database_url=self.url,
            encoder="hashing",
            grace_s=0,
            webhook_networks="127.0.0.0/8",
        )

    @contextmanager
    def services(self) -> Iterator[Services]:
        with closing(open_store(self.settings)) as store:
            yield Services(self.settings, store)


def fill(place: Place) -> None:
    """Three segments, of which the first has replaced documents, matches of a phrase, a snapshot and an empty alias."""
    place.folder.mkdir(parents=True, exist_ok=True)
    upgrade(place.settings.catalog_url)
    with place.services() as services:
        services.get(CollectionService).create("c", CollectionOptions(encoder="hashing", nugget_ratio=0.5))
        services.get(PhraseService).add("c", PhraseDraft("late", PHRASE, threshold=0.9, threshold_on="raw"))
        for first, last, version in ((0, 12, 0), (12, 24, 0), (3, 9, 1)):
            services.get(DocumentService).upsert("c", documents(first, last, version))
        services.get(SnapshotService).create("c", id="a" * 24)


@dataclass(frozen=True)
class Seen:
    """What a reader of the store sees: documents, and the matches that stand, of every collection that has a name."""

    documents: Mapping[str, Mapping[str, Document]]
    matches: Mapping[str, tuple[tuple[str, str], ...]]


def seen(services: Services) -> Seen:
    """Read everything. Nothing may be damaged, and nothing there twice."""
    names = [each.name for each in services.store.catalog.collections() if not each.name.startswith("reindex-")]
    read = {name: (_documents(services, name), _matches(services, name)) for name in names}
    return Seen({name: each[0] for name, each in read.items()}, {name: each[1] for name, each in read.items()})


def _documents(services: Services, name: str) -> dict[str, Document]:
    snapshot = services.store.present(name)
    found = list(exported_documents(snapshot, Filter()))
    read = {each.id: each for each in found}
    assert len(read) == len(found), "a document is there twice"
    return read


def _matches(services: Services, name: str) -> tuple[tuple[str, str], ...]:
    standing: dict[int, tuple[str, str]] = {}
    for event in services.get(PhraseService).events(name, 1000).events:
        if event.event == "matched":
            standing[event.match] = (event.phrase, event.document_id)
        else:
            del standing[event.match]
    found = sorted(standing.values())
    assert len(set(found)) == len(found), "a match is there twice"
    return tuple(found)


def check(services: Services) -> None:
    """Every file is as its checksum says, and the catalog has exactly the documents of the segments."""
    store = services.store
    assert verify_store(store).damages == ()
    for collection in store.catalog.collections():
        generation = store.catalog.live_generation(collection.name)
        ids = [live_document_ids(store.catalog, collection, live.info.name) for live in generation.segments]
        assert sum(map(len, ids)) == len(set().union(*ids)) == collection.documents
        assert collection.documents == sum(live.live_documents for live in generation.segments)


def orphans(store: Store) -> set[str]:
    """Files and folders of the data folder that nothing refers to."""
    catalog, folder = store.catalog, store.data_dir
    wanted = {f"collections/{each.id}" for each in catalog.collections()}
    for each in catalog.collections():
        segments = catalog.live_generation(each.name).segments
        wanted |= {f"collections/{each.id}/{live.info.name}" for live in segments}
    there = {str(path.relative_to(folder)) for path in folder.glob("collections/*/*")}
    there |= {str(path.relative_to(folder)) for path in folder.glob("collections/*")}
    for name in ("restoring", "snapshot-pins", "backup-pins"):
        there |= {str(path.relative_to(folder)) for path in folder.glob(f"{name}/*")}
    there |= {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".part", ".removed")}
    there |= {str(path.relative_to(folder)) for path in folder.rglob("*partial*")}
    there |= {str(path.relative_to(folder)) for path in folder.glob("tasks/*/body*")}
    return there - wanted | {str(path) for path in left_behind(store)}
