"""The keys of an issuer: when they are fetched, and what is taken."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import sleep

import pytest

from app.http.jwks import Jwks, fetched
from app.http.problems import IssuerUnavailable
from models.errors import InvalidInput

ISSUER = "https://login.example"
KEYS = "https://login.example/keys"
ONE, TWO = {"kid": "one", "kty": "EC"}, {"kid": "two", "kty": "EC"}


class Provider:
    """What an issuer answers, and how often it was asked for its keys."""

    def __init__(self, *keys: object) -> None:
        self.keys, self.asked, self.now, self.is_down = list(keys), 0, 0.0, False
        self.issuer = ISSUER

    def __call__(self, url: str) -> object:
        if self.is_down:
            raise OSError("down")
        if url.endswith("/.well-known/openid-configuration"):
            return {"issuer": self.issuer, "jwks_uri": KEYS}
        assert url == KEYS
        self.asked += 1
        return {"keys": self.keys}

    def jwks(self, url: str = "") -> Jwks:
        return Jwks(ISSUER, url, fetch=self, clock=lambda: self.now, wait_s=60.0)


def test_keys_are_fetched_once_and_kept() -> None:
    provider = Provider(ONE)
    jwks = provider.jwks()
    assert [jwks.key("one") for _ in range(3)] == [ONE] * 3
    assert provider.asked == 1
    provider.now = 601.0
    assert jwks.key("one") == ONE
    jwks._fetching.join()
    assert provider.asked == 2


def test_a_rotated_key_is_found_at_once() -> None:
    provider = Provider(ONE)
    jwks = provider.jwks(KEYS)
    assert jwks.key("one") == ONE
    provider.keys, provider.now = [TWO], 11.0
    assert jwks.key("two") == TWO
    assert jwks.key("one") is None


def test_made_up_ids_do_not_make_the_server_ask_again_and_again() -> None:
    provider = Provider(ONE)
    jwks = provider.jwks()
    assert [jwks.key(f"made-up-{n}") for n in range(100)] == [None] * 100
    assert provider.asked == 1


def test_an_issuer_that_is_down_keeps_nobody_out_whose_key_is_known() -> None:
    provider = Provider(ONE)
    jwks = provider.jwks()
    assert jwks.key("one") == ONE
    provider.is_down, provider.now = True, 10_000.0
    assert jwks.key("one") == ONE


def test_while_keys_are_fetched_known_ones_serve_and_unknown_ones_do_not_wait() -> None:
    provider, asked, answer = Provider(ONE), threading.Event(), threading.Event()

    def slow(url: str) -> object:
        if provider.asked:
            asked.set()
            assert answer.wait(60)
        return provider(url)

    jwks = Jwks(ISSUER, KEYS, fetch=slow, clock=lambda: provider.now, wait_s=60.0)
    assert jwks.key("one") == ONE
    provider.now = 601.0
    assert jwks.key("one") == ONE
    assert asked.wait(60)
    for number in range(100):
        with pytest.raises(IssuerUnavailable):
            jwks.key(f"made-up-{number}")
    assert jwks.key("one") == ONE
    answer.set()
    jwks._fetching.join()
    assert jwks.key("made-up") is None
    assert provider.asked == 2


def test_an_issuer_that_hangs_holds_up_whoever_starts_the_fetch_for_a_moment() -> None:
    answer = threading.Event()
    jwks = Jwks(ISSUER, KEYS, fetch=lambda _: answer.wait(60), wait_s=0.0)
    for _ in range(100):
        with pytest.raises(IssuerUnavailable):
            jwks.key("one")
    fetching = jwks._fetching
    assert fetching.is_alive()
    answer.set()
    fetching.join()


@pytest.mark.parametrize("document", ['{"keys":' + "[" * 100_000 + "]" * 100_000 + "}", "not JSON", "[]"])
def test_a_document_that_cannot_be_read_makes_the_issuer_unavailable(document: str) -> None:
    jwks = Jwks(ISSUER, KEYS, fetch=lambda _: json.loads(document), wait_s=60.0)
    with pytest.raises(IssuerUnavailable):
        jwks.key("one")


def test_without_keys_the_issuer_is_unavailable() -> None:
    provider = Provider(ONE)
    jwks, provider.is_down = provider.jwks(), True
    with pytest.raises(IssuerUnavailable):
        jwks.key("one")
    provider.is_down, provider.now = False, 11.0
    assert jwks.key("one") == ONE


UNUSABLE = [{"kid": "one", "kty": "oct", "k": "x"}, ONE | {"use": "enc"}, ONE | {"alg": ["RS256"]}, "one"]


@pytest.mark.parametrize("keys", [*([key] for key in UNUSABLE), []])
def test_only_public_keys_of_signatures_are_taken(keys: list[object]) -> None:
    with pytest.raises(IssuerUnavailable):
        Provider(*keys).jwks().key("one")


def test_the_discovery_document_is_the_issuers_own() -> None:
    provider = Provider(ONE)
    provider.issuer = "https://evil.example"
    with pytest.raises(IssuerUnavailable):
        provider.jwks().key("one")


def test_a_token_without_an_id_is_of_the_only_key() -> None:
    assert Provider(ONE).jwks().key(None) == ONE
    assert Provider(ONE, TWO).jwks().key(None) is None


@pytest.mark.parametrize("url", ["http://login.example/keys", "file:///etc/passwd", "ftp://localhost/keys", "keys"])
def test_keys_come_over_tls_alone(url: str) -> None:
    with pytest.raises(InvalidInput, match="no address from which keys"):
        fetched(url)


@contextmanager
def issuer_that(answers: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """The URL of a server that answers one request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):  # the client is gone
                answers(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        thread.join()


def redirect(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "/keys")
    handler.end_headers()


def test_redirects_are_not_followed() -> None:
    with issuer_that(redirect) as url, pytest.raises(OSError, match="Redirect"):
        fetched(url)


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"])
def test_an_issuer_that_drips_is_cut_off(begin: bytes) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(begin)
        while True:
            handler.wfile.write(b"x")
            sleep(0.01)

    with issuer_that(drip) as url, pytest.raises(TimeoutError):
        fetched(url, limit_s=0.2)


def test_a_document_that_is_too_large_is_refused() -> None:
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (2**20 + 1))

    with issuer_that(flood) as url, pytest.raises(ValueError, match="more than"):
        fetched(url)
