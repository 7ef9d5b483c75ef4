"""A data folder that is removed or replaced under a running server: nothing is acknowledged until it is back."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from app.services import open_store
from app.settings import Settings
from indexer.catalog.database import Database
from indexer.catalog.watched_paths import WatchedPath
from indexer.errors import DataFolderLost
from indexer.indexing.pipeline import IndexJob
from indexer.types import Recipe
from models.encoders.registry import load_encoder
from models.types import Document, Part, SpanBounds
from tests.integration.http.conftest import Client, settings_of

PATH = "/collections/sample/documents"
NEW = {"id": "new", "text": "a text that is new"}


@pytest.fixture
def data(backend: str, settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """A small collection, in a data folder with the catalog, or with the catalog in PostgreSQL."""
    if backend == "sqlite":
        return settings
    made = settings.model_copy(update={"database_url": request.getfixturevalue("url")})
    store, encoder = open_store(made), load_encoder("hashing")
    with closing(store.catalog):
        recipe = Recipe("hashing", encoder.fingerprint, encoder.dim, SpanBounds(1, 8))
        collection = store.catalog.create_collection("sample", recipe)
        IndexJob(store, encoder, collection).run([Document("old", (Part("a text that is old"),))])
    return made


def release_leases(catalog: Path) -> None:
    """A server maintains its collections while it is idle; its lease must not be in the copy, as it does not end."""
    if catalog.exists():
        with closing(sqlite3.connect(catalog)) as connection, connection:
            connection.execute("DELETE FROM leases")


def assert_lost(client: Client, problem, why: str) -> None:
    body = problem(client.get("/health/ready"), 503, "not_ready")
    assert body["checks"]["database"]["code"] == "data_folder_lost"
    assert "restart" in body["hint"]
    assert why in problem(client.post(PATH, NEW), 503, "data_folder_lost")["detail"]
    problem(client.run(client.http.delete(f"{PATH}/old")), 503, "data_folder_lost")
    problem(client.get("/collections"), 503, "data_folder_lost")


@pytest.mark.ci("starts servers")
def test_a_folder_that_is_gone_until_it_is_back(data: Settings, start, problem) -> None:
    client, elsewhere = start(data), data.data_dir.with_name("elsewhere")
    assert client.post(PATH, NEW).status_code == 200
    data.data_dir.rename(elsewhere)
    assert_lost(client, problem, "removed")
    assert not data.data_dir.exists(), "nothing was created in its place"
    elsewhere.rename(data.data_dir)
    assert client.get("/health/ready").status_code == 200
    assert client.post(PATH, NEW | {"id": "newer"}).json()["results"] == [{"id": "newer", "status": "indexed"}]
    assert start(data).search(text="a text that is new", top_k=1)["hits"][0]["document_id"].startswith("new")


@pytest.mark.ci("starts servers")
def test_a_folder_that_is_replaced_needs_a_restart(data: Settings, start, problem) -> None:
    client = start(data)
    assert client.post(PATH, NEW).status_code == 200
    shutil.copytree(data.data_dir, data.data_dir.with_name("copy"))
    release_leases(data.data_dir.with_name("copy") / "catalog.sqlite3")
    shutil.rmtree(data.data_dir)
    data.data_dir.with_name("copy").rename(data.data_dir)
    assert_lost(client, problem, "replaced")
    again = start(data)
    assert again.get("/health/ready").status_code == 200
    assert again.post(PATH, NEW | {"id": "newer"}).status_code == 200


@pytest.mark.usefixtures("sqlite")
def test_a_catalog_that_is_replaced_in_its_folder(settings: Settings, start, problem) -> None:
    client, path = start(settings), settings.data_dir / "catalog.sqlite3"
    client.get("/collections")
    shutil.copy(path, path.with_name("restored"))
    path.with_name("restored").replace(path)
    assert_lost(client, problem, "replaced")


def insert_and_move(database: Database, folder: Path, target: Path) -> None:
    with database.write() as connection:
        connection.execute(
            text(
                "INSERT INTO keys (id, name, secret_hash, scopes, created_at) "
                "VALUES ('k', 'n', 'h', '[]', '2024-01-01')"
            )
        )
        folder.rename(target)


def test_a_write_under_way_is_rolled_back(migrated_sqlite: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(migrated_sqlite, folder / "c.db")
    with closing(Database(f"sqlite:///{folder}/c.db", folder)) as database:
        with pytest.raises(DataFolderLost):
            insert_and_move(database, folder, tmp_path / "elsewhere")
        (tmp_path / "elsewhere").rename(folder)
        with database.read() as connection:
            assert connection.scalar(text("SELECT count(*) FROM keys")) == 0


def test_a_new_folder_never_passes_for_the_old_one(tmp_path: Path) -> None:
    """File systems give the inode number of a removed folder to the next one, unless it is kept open."""
    folder = tmp_path / "data"
    for _ in range(20):
        folder.mkdir()
        watched = WatchedPath(folder)
        watched.remember()
        folder.rmdir()
        folder.mkdir()
        with pytest.raises(DataFolderLost, match="replaced"):
            watched.check()
        watched.close()
        folder.rmdir()


def test_closing_leaves_no_descriptor_open(empty_settings: Settings) -> None:
    empty_settings.data_dir.mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with closing(open_store(settings_of(empty_settings.data_dir)).catalog) as catalog, catalog.database.read():
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
