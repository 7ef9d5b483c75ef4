"""Behind a proxy: whose headers are believed, and the prefix."""

import httpx
import pytest

from app.http.app import create_app
from models.errors import InvalidInput
from tests.integration.http.conftest import Client

BODY = {"collection": "sample", "text": "cancel"}
FORWARDED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Prefix": "/tools/spanseek"}


@pytest.fixture
def behind(start, settings):
    """``behind(peer, **changes)``: a client whose requests come from this address."""

    def behind(peer: str, **changes: object) -> Client:
        client: Client = start(settings.model_copy(update=changes))
        transport = httpx.ASGITransport(client.app, client=(peer, 4321))
        client.http = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        return client

    return behind


def test_a_trusted_proxy_names_the_prefix_and_the_client(behind, caplog) -> None:
    client = behind("10.0.0.7", trusted_proxies="10.0.0.0/8")
    client.headers = FORWARDED
    for path in ("/search", "/tools/spanseek/search"):
        assert client.post(path, BODY).json()["hits"]
    assert client.get("/openapi.json").json()["servers"] == [{"url": "/tools/spanseek"}]
    with caplog.at_level("INFO", logger="app.http.middleware"):
        client.get("/tools/spanseek/collections/sample")
    assert "203.0.113.9 - GET /collections/{collection} 200" in caplog.text


def test_nobody_else_does(behind, caplog) -> None:
    client = behind("192.0.2.1", trusted_proxies="10.0.0.0/8")
    client.headers = FORWARDED
    assert client.post("/tools/spanseek/search", BODY).status_code == 404
    assert "servers" not in client.get("/openapi.json").json()
    with caplog.at_level("INFO", logger="app.http.middleware"):
        client.get("/collections")
    assert "192.0.2.1 - GET /collections 200" in caplog.text


def test_a_setting_names_the_prefix_without_any_header(behind) -> None:
    client = behind("192.0.2.1", root_path="/spanseek/")
    assert client.get("/spanseek/collections/sample").json()["name"] == "sample"
    assert client.get("/collections/sample").json()["name"] == "sample"
    bare = client.get("/spanseek")
    assert (bare.status_code, bare.headers["location"]) == (307, "/spanseek/")
    assert client.get("/spanseek/").text == client.get("/").text
    assert client.get("/openapi.json").json()["servers"] == [{"url": "/spanseek"}]


def test_a_long_upload_is_one_below_the_prefix_too(behind) -> None:
    client = behind("192.0.2.1", root_path="/spanseek", body_limit_bytes=1000)
    line = '{"id": "a", "text": "' + "Cancel it. " * 200 + '"}\n'
    path = "/spanseek/collections/sample/documents"
    assert client.post_raw(f"{path}/import", line, "application/x-ndjson").status_code == 202
    assert client.post_raw(path, line, "application/x-ndjson").status_code == 413


@pytest.mark.parametrize("sent", ["//evil.example", "/a/../b", "no-slash", "/a b", "/a?b", "/" + "a" * 300])
def test_what_is_no_prefix_is_ignored_or_refused(behind, settings, sent: str) -> None:
    client = behind("10.0.0.7", trusted_proxies="10.0.0.7")
    client.headers = {"X-Forwarded-Prefix": sent}
    assert "servers" not in client.get("/openapi.json").json()
    with pytest.raises(InvalidInput, match="is no path prefix"):
        create_app(settings.model_copy(update={"root_path": sent}))


def test_a_proxy_is_an_address_or_a_network(settings) -> None:
    with pytest.raises(InvalidInput, match="'nginx' is no address or network"):
        create_app(settings.model_copy(update={"trusted_proxies": "nginx"}))
