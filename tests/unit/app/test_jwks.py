"""The keys of an issuer: when they are fetched, and what is taken."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

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
        return Jwks(ISSUER, url, fetch=self, clock=lambda: self.now)


def test_keys_are_fetched_once_and_kept() -> None:
    provider = Provider(ONE)
    jwks = provider.jwks()
    assert [jwks.key("one") for _ in range(3)] == [ONE] * 3
    assert provider.asked == 1
    provider.now = 601.0
    assert jwks.key("one") == ONE
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


def test_a_slow_issuer_holds_up_nobody_whose_key_is_known() -> None:
    provider, asked, answer = Provider(ONE), threading.Event(), threading.Event()

    def slow(url: str) -> object:
        if provider.asked:
            asked.set()
            assert answer.wait(60)
        return provider(url)

    jwks = Jwks(ISSUER, KEYS, fetch=slow, clock=lambda: provider.now)
    assert jwks.key("one") == ONE
    provider.now = 601.0
    thread = threading.Thread(target=jwks.key, args=("made-up",))
    thread.start()
    assert asked.wait(60)
    assert jwks.key("one") == ONE
    answer.set()
    thread.join()
    assert provider.asked == 2


def test_without_keys_the_issuer_is_unavailable() -> None:
    provider = Provider(ONE)
    jwks, provider.is_down = provider.jwks(), True
    with pytest.raises(IssuerUnavailable):
        jwks.key("one")
    provider.is_down, provider.now = False, 11.0
    assert jwks.key("one") == ONE


@pytest.mark.parametrize("keys", [[{"kid": "one", "kty": "oct", "k": "x"}], [ONE | {"use": "enc"}], ["one"], []])
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


def test_redirects_are_not_followed() -> None:
    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "/keys" if self.path == "/" else "/")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(OSError, match="redirect"):
            fetched(f"http://127.0.0.1:{server.server_port}/")
        thread.join()
