"""The server as a process of its own, asked over HTTP."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from app.composition import open_store
from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from indexer.pipeline import IndexJob
from indexer.stats import collection_stats
from indexer.types import Recipe
from models.encoders.registry import load_encoder
from models.types import Document, Part

SERVE = """
import sys
from app.main import serve
from app.settings import Settings
from models.errors import SpanseekError
try:
    serve(Settings(_env_file=None))
except SpanseekError as error:
    sys.exit(f"{error.code}: {error} {error.hint}")
"""
SEARCH = {"collection": "sample", "text": "cancel my subscription", "top_k": 1}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", database_url="")
    upgrade(found.catalog_url)
    return found


def start(settings: Settings, **changes: object) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPANSEEK_")}
    wanted = {"data_dir": settings.data_dir, "encoder": "hashing", "port": 0} | changes
    environment |= {f"SPANSEEK_{name.upper()}": str(value) for name, value in wanted.items()}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVE], env=environment, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def running(settings: Settings, **changes: object) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server that is ready; killed at the end if it is still there."""
    with start(settings, **changes) as process:
        try:
            with httpx.Client(base_url=url_of(process), timeout=60) as client:
                wait_until_ready(client)
                yield process, client
        finally:
            process.kill()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"serves on (http://\S+)", line):
            return found[1]
    raise AssertionError("".join(said))


def wait_until_ready(client: httpx.Client) -> None:
    deadline = time.monotonic() + 120
    while client.get("/health/ready", timeout=120).status_code != 200:
        assert time.monotonic() < deadline


def test_it_starts_answers_and_stops(settings) -> None:
    store, encoder = open_store(settings), load_encoder("hashing")
    with closing(store.catalog):
        recipe = Recipe("hashing", encoder.fingerprint, encoder.dim)
        target = store.catalog.create_collection("sample", recipe)
        document = Document("call-1", (Part("I want to cancel my subscription now."),))
        IndexJob(store, encoder, target).run([document])
    with running(settings) as (process, client):
        (hit,) = client.post("/search", json=SEARCH).json()["hits"]
        assert (hit["document_id"], hit["text"]) == ("call-1", "cancel my subscription")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


def test_what_was_acknowledged_survives_kill_minus_nine(settings) -> None:
    """Nine writes, so that the server is merging when it dies, or has merged."""
    encoder, path = load_encoder("hashing"), "/collections/sample/documents"
    with closing(open_store(settings).catalog) as catalog:
        target = catalog.create_collection("sample", Recipe("hashing", encoder.fingerprint, encoder.dim))
        with running(settings) as (process, client):
            for number in range(8):
                answer = client.post(path, json={"id": f"d{number}", "text": f"zeppelin {number}"}).json()
                assert answer["results"] == [{"id": f"d{number}", "status": "indexed"}]
            answer = client.delete(f"{path}/d3").json()
            assert answer["results"] == [{"id": "d3", "status": "deleted"}]
            process.kill()
            process.wait(timeout=20)
        left = [f"d{number}" for number in range(8) if number != 3]
        assert sorted(catalog.content_hashes("sample", [*left, "d3"])) == left
        report = IndexJob(open_store(settings), encoder, target).run([Document("d3", (Part("back"),))])
        assert report.documents == 1
        found = collection_stats(open_store(settings), "sample")
        assert (found.documents, found.units) == (8, 7 * 2 + 1)


def test_on_the_network_it_asks_for_the_key_and_keeps_its_limits(settings) -> None:
    def chunks() -> Iterator[bytes]:
        yield from (b" " * 1000 for _ in range(3))

    with closing(Catalog(settings.catalog_url)) as catalog:
        _, token = create_key(catalog, "test", ["search"])
    with running(settings, host="0.0.0.0", body_limit_bytes=2000) as (process, client):
        assert client.get("/collections").status_code == 401
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.get("/collections").json() == {"collections": []}
        assert client.post("/search", content=b" " * 2001).status_code == 413
        assert client.post("/search", content=chunks()).status_code == 413
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


def test_without_tables_it_says_what_to_do_and_exits(tmp_path) -> None:
    with start(Settings(_env_file=None, data_dir=tmp_path, encoder="hashing")) as process:
        try:
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 1
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("catalog_not_initialised: ")
    assert "spanseek init-db" in said
