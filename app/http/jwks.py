"""The public keys of an issuer of tokens (JWKS): fetched, kept, and fetched again when it rotates them."""

import json
import logging
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from threading import Lock
from typing import Any, Final, TypeAlias
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from app.http.hosts import is_loopback
from app.http.problems import IssuerUnavailable
from models.errors import InvalidInput

Fetch: TypeAlias = Callable[[str], Any]

_DISCOVERY: Final = "/.well-known/openid-configuration"
# Seconds for which keys are kept, and between two fetches, whatever ids of keys tokens name.
_KEPT_S: Final = 600.0
_APART_S: Final = 10.0
_TIMEOUT_S: Final = 5.0
# Seconds for which a request waits while another one fetches.
_WAIT_S: Final = 1.0
_MOST_BYTES: Final = 2**20

_log = logging.getLogger(__name__)


class Jwks:
    """The keys of one issuer by their ids; ``url`` is where they are, or empty to ask the issuer's discovery document.

    Keys that were fetched once serve on while the issuer cannot be reached.
    """

    def __init__(
        self, issuer: str, url: str = "", *, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer, self._url = issuer, url
        self._fetch: Fetch = fetch or fetched
        self._clock = clock
        self._lock = Lock()
        self._keys: tuple[Mapping[str, Any], ...] = ()
        self._asked_at = self._got_at = -_KEPT_S

    def key(self, id: str | None) -> Mapping[str, Any] | None:
        """The key of this id, as JWK; of a token that names none, the only key. None if there is no such key.

        Fetches keys when they are old, and for an unknown id, in case the issuer has a new key. One thread at a time
        does; others go on with known keys, and wait a moment for unknown ones.
        Raises ``IssuerUnavailable`` if keys never could be fetched.
        """
        found = self._found(id)
        if found is not None and (not self._are_old or self._lock.locked()):
            return found
        if self._lock.acquire(timeout=_WAIT_S):
            try:
                if self._are_old or self._found(id) is None:
                    self._renew()
            finally:
                self._lock.release()
        if not self._keys:
            raise IssuerUnavailable(
                f"The keys of the issuer {self._issuer} cannot be fetched.",
                hint="Retry; check that this server reaches the issuer. The log has the reason.",
            )
        return self._found(id)

    @property
    def _are_old(self) -> bool:
        return self._clock() - self._got_at >= _KEPT_S

    def _found(self, id: str | None) -> Mapping[str, Any] | None:
        named = [key for key in self._keys if id is None or key.get("kid") == id]
        return named[0] if len(named) == 1 else None

    def _renew(self) -> None:
        now = self._clock()
        if now - self._asked_at >= _APART_S:
            self._asked_at = now
            try:
                self._keys = _usable(self._fetch(self._url or self._discovered()))
                self._got_at = now
            except (OSError, HTTPException, ValueError, InvalidInput) as error:
                _log.warning("the keys of the issuer %s were not fetched: %s", self._issuer, error)

    def _discovered(self) -> str:
        document = self._fetch(self._issuer.rstrip("/") + _DISCOVERY)
        if not isinstance(document, dict) or document.get("issuer") != self._issuer:
            raise ValueError("its discovery document is that of another issuer")
        url = document.get("jwks_uri")
        if not isinstance(url, str):
            raise ValueError("its discovery document has no jwks_uri")
        return url


def fetched(url: str) -> Any:  # noqa: ANN401  # JSON
    """The JSON at a URL of ``https``, or of ``http`` on this machine; redirects are not followed.

    Raises ``OSError``, ``HTTPException``, ``ValueError`` and ``InvalidInput``.
    """
    with build_opener(_NoRedirects).open(Request(checked_url(url)), timeout=_TIMEOUT_S) as answer:  # noqa: S310
        body = answer.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise ValueError(f"{url} answers more than {_MOST_BYTES:,} bytes")
    return json.loads(body)


def checked_url(url: str) -> str:
    """The URL itself. Raises ``InvalidInput`` unless nobody on the way can change the answer.

    >>> checked_url("https://login.example/keys")
    'https://login.example/keys'
    """
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return url
    raise InvalidInput(
        f"{url[:200]!r} is no address from which keys can be taken.",
        hint="Set SPANSEEK_JWT_ISSUER and SPANSEEK_JWT_JWKS_URL to addresses of https.",
        field="jwt_issuer",
    )


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        raise URLError("a redirect, which is not followed")


def _usable(document: object) -> tuple[Mapping[str, Any], ...]:
    """The keys that verify signatures; no secret that would sign them."""
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise ValueError("what it answers is no set of keys")
    return tuple(
        key for key in keys if isinstance(key, dict) and key.get("kty") != "oct" and key.get("use", "sig") == "sig"
    )
