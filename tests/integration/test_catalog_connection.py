"""How the catalog connects, and what it says when it cannot."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import text

from indexer.catalog.collections import Catalog
from indexer.catalog.database import Database
from indexer.catalog.schema import upgrade
from indexer.errors import CatalogUnavailable

INSERT_KEY = "INSERT INTO keys (id, name, secret_hash, scopes, created_at) VALUES ('k', 'n', 'h', '[]', '2024-01-01')"


def test_sqlite_survives_power_cuts_and_enforces_references(tmp_path):
    with closing(Database(f"sqlite:///{tmp_path}/c.db")) as database, database.read() as connection:
        pragmas = {
            name: connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


def test_many_can_open_a_new_sqlite_file_at_once(tmp_path):
    """SQLite refuses at once, whatever its time-out, where several turn one new file to WAL: rarely, so many files."""
    together = Barrier(6)

    def open_it(number):
        with closing(Database(f"sqlite:///{tmp_path}/{number}.db")) as database:
            together.wait()
            with database.write() as connection:
                return connection.scalar(text("PRAGMA journal_mode"))

    with ThreadPoolExecutor(6) as pool:
        for number in range(60):
            assert set(pool.map(open_it, [number] * 6)) == {"wal"}


def test_a_read_transaction_sees_one_moment(url):
    """Python's SQLite driver on its own would begin no transaction for a SELECT."""
    count = text("SELECT count(*) FROM keys")
    insert = text(INSERT_KEY)
    with closing(Database(url)) as database:
        with database.snapshot() as reader:
            before = reader.scalar(count)
            with database.write() as writer:
                writer.execute(insert)
            assert reader.scalar(count) == before == 0
        with database.read() as reader:
            assert reader.scalar(count) == 1


def test_nothing_is_written_when_the_block_raises(url):
    def interrupted(database):
        with database.write() as connection:
            connection.execute(text(INSERT_KEY))
            raise KeyboardInterrupt

    with closing(Database(url)) as database:
        with pytest.raises(KeyboardInterrupt):
            interrupted(database)
        with database.read() as connection:
            assert connection.scalar(text("SELECT count(*) FROM keys")) == 0


def test_writers_wait_for_each_other(empty_url):
    """On SQLite a writer that began by reading would fail with 'database is locked' instead."""
    statement = "UPDATE counter SET n = :n"
    with closing(Database(empty_url)) as database:
        with database.write() as connection:
            connection.execute(text("CREATE TABLE counter (n INTEGER)"))
            connection.execute(text("INSERT INTO counter VALUES (0)"))
        lock = "" if database.url.get_backend_name() == "sqlite" else " FOR UPDATE"

        def count(_):
            with database.write() as connection:
                n = connection.scalar(text(f"SELECT n FROM counter{lock}"))
                connection.execute(text(statement), {"n": n + 1})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count, range(20)))
        with database.read() as connection:
            assert connection.scalar(text("SELECT n FROM counter")) == 20


def test_a_file_that_is_no_database_is_unavailable(tmp_path):
    path = tmp_path / "c.db"
    path.write_text("Dear diary, " * 1000)
    with closing(Catalog(f"sqlite:///{path}")) as catalog, pytest.raises(CatalogUnavailable, match=str(path)):
        catalog.collections()


def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CatalogUnavailable, match="does not answer"):
        Catalog(f"sqlite:///{tmp_path}/file/folder/c.db")
    with pytest.raises(CatalogUnavailable, match="file is a file, and no folder"):
        Catalog(f"sqlite:///{tmp_path}/file/c.db")


def test_migrating_an_unreachable_database_is_explained():
    with pytest.raises(CatalogUnavailable, match=r"ann:\*\*\*@127.0.0.1"):
        upgrade("postgresql://ann:secret@127.0.0.1:1/spanseek")


def test_a_missing_driver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CatalogUnavailable, match="driver") as caught:
        Catalog("postgresql://db/spanseek")
    assert "spanseek[postgres]" in caught.value.hint


def test_making_a_catalog_connects_to_nothing(tmp_path):
    with closing(Catalog(f"sqlite:///{tmp_path}/c.db")):
        assert not Path(tmp_path, "c.db").exists()
