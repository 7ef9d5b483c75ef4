"""What the server process refuses before it serves."""

import os
import socket
from contextlib import closing

import pytest

from app.main import (
    AddressUnavailable,
    KeysRequired,
    listen,
    require_keys,
    serve,
    server_options,
    set_passive_wait_policy,
    url_of,
)
from indexer.catalog.collections import Catalog
from indexer.errors import CatalogNotInitialised, CatalogUnavailable
from models.errors import BackboneMissing, InvalidInput


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "server.example"])
def test_no_keys_no_network(settings, make_key, host) -> None:
    with pytest.raises(KeysRequired) as refused:
        serve(settings.model_copy(update={"host": host}))
    assert "spanseek keys create" in refused.value.hint
    make_key("search")
    with closing(Catalog(settings.catalog_url)) as catalog:
        require_keys(host, catalog)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_loopback_needs_no_keys(settings, host) -> None:
    with closing(Catalog(settings.catalog_url)) as catalog:
        require_keys(host, catalog)


def test_a_database_without_tables(empty_settings) -> None:
    with pytest.raises(CatalogNotInitialised) as refused:
        serve(empty_settings)
    assert "spanseek init-db" in refused.value.hint


def test_a_database_that_cannot_be_reached(empty_settings) -> None:
    empty_settings.data_dir.write_text("no folder")
    with pytest.raises(CatalogUnavailable):
        serve(empty_settings)


def test_a_model_that_is_missing(settings) -> None:
    with pytest.raises(BackboneMissing, match="/no/such/folder"):
        serve(settings.model_copy(update={"encoder": "untrained", "backbone": "/no/such/folder"}))


@pytest.mark.parametrize(("given", "wanted"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_sleep_unless_the_operator_says_other(monkeypatch, given, wanted) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", given or "")
    if given is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    set_passive_wait_policy()
    assert os.environ["OMP_WAIT_POLICY"] == wanted


def test_a_log_level_that_is_none(settings) -> None:
    with pytest.raises(InvalidInput, match="loud"):
        serve(settings.model_copy(update={"log_level": "loud"}))


def test_a_port_that_is_taken(settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressUnavailable, match=str(port)):
            serve(settings.model_copy(update={"port": port}))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_do_not_wait_for_the_client_to_acknowledge_them(host) -> None:
    with listen(host, 0) as listening, socket.create_connection(listening.getsockname()[:2]):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(("host", "begin"), [("127.0.0.1", "http://127.0.0.1:"), ("::1", "http://[::1]:")])
def test_the_url_of_a_server(host, begin) -> None:
    with listen(host, 0) as listening:
        assert url_of(listening) == f"{begin}{listening.getsockname()[1]}"


def test_uvicorn_believes_no_proxy(settings) -> None:
    """Its own default believes anybody on this machine; the application knows whom to believe."""
    trusting = settings.model_copy(update={"trusted_proxies": "10.0.0.7"})
    assert not server_options(trusting)["proxy_headers"]
