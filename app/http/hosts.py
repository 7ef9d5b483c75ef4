"""Allowed hosts of a server without keys, which must not answer web pages of other sites.

A page can name any host in its URL and let that name resolve to 127.0.0.1 (DNS rebinding); the browser then sends the
page's requests here, with that name as ``Host``. With keys this is harmless: the page has none.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from app.http.problems import Forbidden

_HINT = "Use localhost, or list the name in SPANSEEK_ALLOWED_HOSTS, or create a key with `spanseek keys create`."


class HostNotAllowed(Forbidden):
    """Without API keys, the server answers only under its own names."""

    code = "host_not_allowed"


class OriginNotAllowed(Forbidden):
    """Without API keys, the server does not answer pages of other sites."""

    code = "origin_not_allowed"


class AllowedHosts:
    """The names of loopback, and further ones; and origins of pages that may use the server from elsewhere.

    >>> AllowedHosts(["search.internal"]).check({"host": "search.internal:8000", "origin": "http://localhost:3000"})
    >>> AllowedHosts().check({"host": "evil.example"})
    Traceback (most recent call last):
    app.http.hosts.HostNotAllowed: Without API keys this server does not answer as 'evil.example'.
    """

    def __init__(self, names: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._origins = frozenset(origins)

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise ``HostNotAllowed`` or ``OriginNotAllowed`` if a header names another host."""
        host, origin = headers.get("host"), headers.get("origin")
        # Every browser sends Host; a request without it does not come from a page.
        if host and not self._allows(f"//{host}"):
            raise HostNotAllowed(f"Without API keys this server does not answer as {host[:200]!r}.", hint=_HINT)
        if origin is not None and origin.lower() not in self._origins and not self._allows(origin):
            raise OriginNotAllowed(f"Without API keys this server does not answer {origin[:200]!r}.", hint=_HINT)

    def _allows(self, url: str) -> bool:
        name = _host_name(url)
        return name is not None and (name in self._names or is_loopback(name))


@lru_cache(maxsize=256)
def is_loopback(name: str) -> bool:
    """True for a host name or an address of the loopback interface.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("localhost.example")
    (True, True, True, False)
    """
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


@lru_cache(maxsize=256)
def _host_name(url: str) -> str | None:
    try:
        name = urlsplit(url).hostname
    except ValueError:
        return None
    return name.rstrip(".") if name else None
