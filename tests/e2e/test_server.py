"""The server as a process of its own, asked over HTTP."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.services import open_store
from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from indexer.indexing.pipeline import IndexJob
from indexer.indexing.stats import collection_stats
from indexer.types import Recipe
from models.encoders.registry import load_encoder
from models.types import Document, Part
from tests.serving import running, start
from tests.waiting import PATIENCE_S, until

SEARCH = {"collection": "sample", "text": "cancel my subscription", "top_k": 1}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", database_url="")
    upgrade(found.catalog_url)
    return found


@pytest.mark.ci("starts processes")
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
        assert process.wait(timeout=PATIENCE_S) == 0


@pytest.mark.ci("starts processes")
def test_its_last_words_at_the_start_are_the_address_of_the_page(settings) -> None:
    log: list[str] = []
    with running(settings, log) as (process, client):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
    until(lambda: any(f"The page is at {client.base_url}" in line for line in log))


@pytest.mark.ci("a server of its own")
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
            process.wait(timeout=PATIENCE_S)
        left = [f"d{number}" for number in range(8) if number != 3]
        assert sorted(catalog.content_hashes("sample", [*left, "d3"])) == left
        report = IndexJob(open_store(settings), encoder, target).run([Document("d3", (Part("back"),))])
        assert report.documents == 1
        found = collection_stats(open_store(settings), "sample")
        assert (found.documents, found.units) == (8, 7 * 2 + 1)


@pytest.mark.ci("a server of its own")
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
        assert process.wait(timeout=PATIENCE_S) == 0


@pytest.mark.ci("a server of its own")
def test_without_tables_it_says_what_to_do_and_exits(tmp_path) -> None:
    with start(Settings(_env_file=None, data_dir=tmp_path, encoder="hashing")) as process:
        try:
            _, said = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 1
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("catalog_not_initialised: ")
    assert "spanseek init-db" in said


OWN = ["localhost", "127.0.0.1:8000", "[::1]:8000", "app.localhost", "search.internal"]
OTHERS = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "["]


@pytest.mark.ci("a server of its own")
def test_without_keys_it_answers_only_its_own_pages(settings) -> None:
    with running(settings, allowed_hosts="search.internal, other.internal") as (_, client):
        for host in OWN + OTHERS:
            for method, path in (
                ("GET", "/collections"),
                ("POST", "/search"),
                ("DELETE", "/collections/x/documents/y"),
            ):
                answer = client.request(method, path, headers={"Host": host})
                assert (answer.status_code == 403) == (host in OTHERS), (host, method, answer.text)
                assert host in OWN or answer.json()["code"] == "host_not_allowed"
        for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
            for method, path in (("GET", "/collections"), ("POST", "/search")):
                answer = client.request(method, path, headers={"Origin": origin})
                assert (answer.status_code, answer.json()["code"]) == (403, "origin_not_allowed")
        for origin in ("http://localhost:3000", "https://other.internal"):
            assert client.get("/collections", headers={"Origin": origin}).status_code == 200
        with closing(Catalog(settings.catalog_url)) as catalog:
            _, token = create_key(catalog, "test", ["search"])
        headers = {"Authorization": f"Bearer {token}", "Host": "evil.example", "Origin": "https://evil.example"}
        assert client.get("/collections", headers=headers).status_code == 200


@pytest.mark.ci("a server of its own")
def test_head_is_get_without_the_body(settings) -> None:
    with running(settings) as (_, client):
        for path in ("/collections", "/health/live", "/metrics", "/collections/none"):
            get, head = client.get(path), client.head(path)
            assert (head.status_code, head.content) == (get.status_code, b"")
            assert head.headers["content-type"] == get.headers["content-type"]
        assert client.head("/search").status_code == 405


@pytest.mark.ci("a server of its own")
def test_the_log_has_routes_and_no_names_or_queries(settings) -> None:
    log: list[str] = []
    with running(settings, log) as (process, client):
        client.get("/collections/secret-1/phrases/secret%202?cursor=secret-3")
        client.get("/secret-4")
        client.post("/search", json={"collection": "secret-5", "text": "secret-6"})
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
    until(lambda: any("POST /search 404" in line for line in log))
    assert any("GET /collections/{collection}/phrases/{name} 404" in line for line in log)
    assert any("GET none 404" in line for line in log)
    assert "secret" not in "".join(log)
