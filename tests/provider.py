"""An identity provider over HTTP: discovery, codes for whoever asks with PKCE, tokens for codes, and public keys."""

import hashlib
import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.issuer import public_key, token

CLIENT = "page"


class Provider(ThreadingHTTPServer):
    """Signs in everybody at once, as Ann, with a scope; ``refuses`` says no. ``codes`` are those that wait."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scope, self.refuses = "search", False
        self.codes: dict[str, dict[str, str]] = {}

    @property
    def issuer(self) -> str:
        """The name of the issuer, which is its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider that runs."""
    with Provider() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        asked, own = urlsplit(self.path), self.server.issuer
        if asked.path == "/authorize":
            self._authorize(dict(parse_qsl(asked.query)))
        elif asked.path == "/keys":
            self._answer({"keys": [public_key("one")]})
        else:
            ends = {"authorization_endpoint": f"{own}/authorize", "token_endpoint": f"{own}/token"}
            self._answer({"issuer": own, "jwks_uri": f"{own}/keys", **ends})

    def do_POST(self) -> None:
        sent = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        asked = self.server.codes.pop(sent.get("code", ""), {})
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        kept = {name: sent.get(name) for name in ("client_id", "redirect_uri")}
        is_ours = kept == {name: asked.get(name) for name in kept} and sent.get("grant_type") == "authorization_code"
        if not is_ours or urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            self._answer({"error": "invalid_grant"}, 400)
            return
        given = token(iss=self.server.issuer, scope=self.server.scope)
        self._answer({"access_token": given, "token_type": "Bearer", "expires_in": 60})

    def _authorize(self, asked: dict[str, str]) -> None:
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == ("code", CLIENT, "S256")
        code = secrets.token_hex(8)
        self.server.codes[code] = asked
        said = {"error": "access_denied"} if self.server.refuses else {"code": code}
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(said | {'state': asked['state']})}")
        self.end_headers()

    def _answer(self, value: dict[str, Any], status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
