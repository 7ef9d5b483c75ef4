"""A server process whose PostgreSQL does not answer any more, and then answers again."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.schema import upgrade
from indexer.types import Recipe
from tests.serving import running
from tests.waiting import until


@contextmanager
def frozen(folder: Path) -> Iterator[None]:
    """PostgreSQL and all its processes, stopped without a word."""
    server = psutil.Process(int((folder / "data/postmaster.pid").read_text().split()[0]))
    processes = [server, *server.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


ROUTES = {
    ("GET", "/health/ready"): "not_ready",
    ("GET", "/collections"): "deadline_exceeded",
    ("GET", "/admin/collections/c/thresholds"): "deadline_exceeded",
    ("PUT", "/admin/collections/c/thresholds"): "deadline_exceeded",
    ("GET", "/collections/c/matches"): "deadline_exceeded",
    ("POST", "/search"): "deadline_exceeded",
}
BODIES = {"PUT": {"value": 0.5}, "POST": {"collection": "c", "text": "a"}}


@pytest.mark.slow("waits for deadlines")
def test_every_route_answers_in_time_and_again_when_the_catalog_does(postgres, migrated_postgres, tmp_path) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing")
    url = f"{migrated_postgres}&connect_timeout=60"
    with running(settings, database_url=url, deadline_s=1) as (_, client):
        until(lambda: client.get("/collections").status_code == 200)
        with frozen(postgres.folder):
            for _ in range(3):
                for (method, path), code in ROUTES.items():
                    check(client, method, path, code)
            assert client.get("/health/live").status_code == client.get("/metrics").status_code == 200
        until(lambda: client.get("/health/ready").status_code == client.get("/collections").status_code == 200)


def check(client: httpx.Client, method: str, path: str, code: str) -> None:
    """The deadline ends the request: without one it would get the catalog's answer, or none."""
    answer = client.request(method, path, json=BODIES.get(method))
    assert answer.status_code in (503, 504)
    assert answer.json()["code"] == code, (method, path, answer.text)


@pytest.mark.slow("waits for deadlines")
def test_a_threshold_waits_for_a_locked_catalog_until_the_deadline(tmp_path) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", database_url="")
    upgrade(settings.catalog_url)
    with running(settings, deadline_s=1) as (_, client):
        with closing(Catalog(settings.catalog_url)) as catalog:
            catalog.create_collection("c", Recipe("hashing", "x", 64))
        with closing(sqlite3.connect(tmp_path / "catalog.sqlite3", isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            check(client, "PUT", "/admin/collections/c/thresholds", "deadline_exceeded")
