"""A data folder on a file system that is mounted read-only can be searched."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.services import open_store
from app.settings import Settings
from indexer.archives.backup import back_up
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.store import Store
from tests.small_disk import small_disk

Mounted = Callable[[Path], Settings]


@pytest.fixture
def mounted(settings: Settings, tmp_path: Path) -> Iterator[Mounted]:
    """``mounted(folder)`` are settings of a copy of the folder that cannot be written."""
    with small_disk(tmp_path / "disk", 16 << 20) as disk:

        def mount(folder: Path) -> Settings:
            shutil.copytree(folder, disk / "data")
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            return settings.model_copy(update={"data_dir": disk / "data"})

        yield mount


def test_a_closed_catalog(settings: Settings, mounted: Mounted, start, problem) -> None:
    client = start(mounted(settings.data_dir))
    assert client.search(text="cancel", top_k=1)["hits"]
    assert client.get("/health/ready").status_code == 200
    assert client.get("/collections/sample").status_code == 200
    body = {"id": "new", "text": "a new text"}
    assert "writable" in problem(client.post("/collections/sample/documents", body), 503, "catalog_read_only")["hint"]
    assert client.search(text="cancel", top_k=1)["hits"]


def test_a_backup(settings: Settings, mounted: Mounted, start, tmp_path: Path) -> None:
    with closing(open_store(mounted(settings.data_dir)).catalog) as catalog:
        assert back_up(Store(tmp_path / "disk" / "data", catalog), tmp_path / "backups" / "monday").segments == 1
    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["monday"]
    copy = start(settings.model_copy(update={"data_dir": tmp_path / "backups" / "monday"}))
    assert copy.search(text="cancel", top_k=1)["hits"]


@pytest.mark.usefixtures("sqlite")
def test_a_catalog_that_was_not_closed(settings: Settings, mounted: Mounted, start) -> None:
    """What is in the write-ahead log alone is read."""
    with closing(Catalog(settings.catalog_url)) as catalog:
        catalog.collections()
        with lease(catalog, "sample", holder="elsewhere", ttl=9999):
            client = start(mounted(settings.data_dir))
    assert client.search(text="cancel", top_k=1)["hits"]
    with closing(Catalog(client.settings.catalog_url)) as copy, copy.database.read() as connection:
        assert connection.exec_driver_sql("SELECT holder FROM leases").scalar() == "elsewhere"


@pytest.mark.usefixtures("sqlite")
def test_a_log_without_its_index_is_refused(settings: Settings, mounted: Mounted, start, problem) -> None:
    """To read the catalog as if there was no log would be to lose what is in it."""
    with closing(Catalog(settings.catalog_url)) as catalog, lease(catalog, "sample"):
        shutil.copytree(settings.data_dir, settings.data_dir.with_name("copy"))
    (settings.data_dir.with_name("copy") / "catalog.sqlite3-shm").unlink()
    client = start(mounted(settings.data_dir.with_name("copy")))
    body = problem(client.get("/health/ready"), 503, "not_ready")
    assert "spanseek verify" in body["checks"]["database"]["hint"]
    assert problem(client.get("/collections"), 503, "catalog_unavailable")
