"""The public keys of an issuer of tokens (JWKS): fetched, kept, and fetched again when it rotates them."""

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from threading import Lock, Thread
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from app.http.hosts import is_loopback
from app.http.problems import IssuerUnavailable
from models.errors import InvalidInput

Fetch: TypeAlias = Callable[[str], Any]

_DISCOVERY: Final = "/.well-known/openid-configuration"
# Seconds for which keys are kept, and between two fetches, whatever ids of keys tokens name.
_KEPT_S: Final = 600.0
_APART_S: Final = 10.0
# Seconds for one document, however slowly its bytes arrive.
_TIMEOUT_S: Final = 5.0
# Seconds for which the request that starts a fetch waits for it.
_WAIT_S: Final = 1.0
_MOST_BYTES: Final = 2**20

_log = logging.getLogger(__name__)


class Jwks:
    """The keys of one issuer by their ids; ``url`` is where they are, or empty to ask the issuer's discovery document.

    A thread of its own fetches them, one at a time. Keys that were fetched once serve on while the issuer cannot be
    reached.
    """

    def __init__(
        self,
        issuer: str,
        url: str = "",
        *,
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait_s: float = _WAIT_S,
    ) -> None:
        self._issuer, self._url = issuer, url
        self._fetch: Fetch = fetch or fetched
        self._clock, self._wait_s = clock, wait_s
        self._lock = Lock()
        self._fetching = Thread()
        self._keys: tuple[Mapping[str, Any], ...] = ()
        self._asked_at = self._got_at = -_KEPT_S

    def key(self, id: str | None) -> Mapping[str, Any] | None:
        """The key of this id, as JWK; of a token that names none, the only key. None if there is no such key.

        Starts to fetch keys when they are old, and for an unknown id, in case the issuer has a new key. A known key
        is returned at once. For an unknown one the caller that starts the fetch waits for it, a moment at most.
        Raises ``IssuerUnavailable`` if keys never could be fetched, or for an unknown id while they are fetched.
        """
        found = self._found(id)
        if found is None or self._clock() - self._got_at >= _KEPT_S:
            started = self._start()
            if found is None and started:
                self._fetching.join(self._wait_s)
                found = self._found(id)
        if found is None and (not self._keys or self._fetching.is_alive()):
            raise IssuerUnavailable(
                f"The keys of the issuer {self._issuer} cannot be fetched, or not yet.",
                hint="Retry; check that this server reaches the issuer. The log has the reason.",
            )
        return found

    def _found(self, id: str | None) -> Mapping[str, Any] | None:
        named = [key for key in self._keys if id is None or key.get("kid") == id]
        return named[0] if len(named) == 1 else None

    def _start(self) -> bool:
        """Start to fetch keys, unless a fetch runs or began a moment ago."""
        with self._lock:
            if self._fetching.is_alive() or self._clock() - self._asked_at < _APART_S:
                return False
            self._asked_at = self._clock()
            self._fetching = Thread(target=self._renew, name="jwks", daemon=True)
            self._fetching.start()
            return True

    def _renew(self) -> None:
        try:
            self._keys = _usable(self._fetch(self._url or self._discovered()))
            self._got_at = self._clock()
        except (OSError, ValueError, RecursionError, InvalidInput) as error:
            _log.warning("the keys of the issuer %s were not fetched: %s", self._issuer, error or type(error).__name__)

    def _discovered(self) -> str:
        document = self._fetch(self._issuer.rstrip("/") + _DISCOVERY)
        if not isinstance(document, dict) or document.get("issuer") != self._issuer:
            raise ValueError("its discovery document is that of another issuer")
        url = document.get("jwks_uri")
        if not isinstance(url, str):
            raise ValueError("its discovery document has no jwks_uri")
        return url


def fetched(url: str, limit_s: float = _TIMEOUT_S) -> Any:  # noqa: ANN401  # JSON
    """The JSON at a URL of ``https``, or of ``http`` on this machine; redirects are not followed.

    Raises ``InvalidInput``; ``OSError``, such as ``TimeoutError`` if the answer is not complete in time;
    ``ValueError``; and ``RecursionError`` for JSON that is nested too deeply.
    """
    return json.loads(asyncio.run(_body(checked_url(url), limit_s)))


async def _body(url: str, limit_s: float) -> bytes:
    import httpx

    body = bytearray()
    # The certificates that the system trusts, which may be those of a company.
    client = httpx.AsyncClient(verify=ssl.create_default_context(), timeout=limit_s)
    try:
        async with asyncio.timeout(limit_s), client, client.stream("GET", url) as answer:
            answer.raise_for_status()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise ValueError(f"{url} answers more than {_MOST_BYTES:,} bytes")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(f"{url}: {error}") from error
    return bytes(body)


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


def _usable(document: object) -> tuple[Mapping[str, Any], ...]:
    """The keys that verify signatures; no secret that would sign them."""
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise ValueError("what it answers is no set of keys")
    return tuple(
        key
        for key in keys
        if isinstance(key, dict)
        and key.get("kty") != "oct"
        and key.get("use", "sig") == "sig"
        and isinstance(key.get("alg", ""), str)
    )
