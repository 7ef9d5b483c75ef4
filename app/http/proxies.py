"""Proxies in front of the server: the addresses that they pass on, and the prefix they serve it under.

Every header about them is believed of trusted proxies alone. By ASGI, ``root_path`` is the prefix and ``path`` begins
with it: routes and the OpenAPI document follow from that.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import Final

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from models.errors import InvalidInput

HEADER: Final = "X-Forwarded-Prefix"
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,10}")
_MOST_CHARACTERS: Final = 200


def add_proxies(app: FastAPI, root_path: str, trusted_proxies: str) -> None:
    """Let an application know its clients and its prefix behind proxies. Add it last: it is to see requests first.

    Raises ``InvalidInput`` for settings that are none.
    """
    proxies = proxies_of(trusted_proxies)
    if proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=proxies)
    # It sees the proxy's own address, in place of which the other one puts the client's.
    app.add_middleware(PrefixMiddleware, prefix=prefix_of(root_path), proxies=proxies)


def proxies_of(setting: str) -> list[str]:
    """The addresses and networks of a setting. Raises ``InvalidInput`` for one that is neither.

    >>> proxies_of("10.0.0.7, 192.168.0.0/16")
    ['10.0.0.7', '192.168.0.0/16']
    """
    proxies = setting.replace(",", " ").split()
    for proxy in proxies:
        try:
            ip_network(proxy)
        except ValueError as error:
            raise InvalidInput(
                f"{proxy!r} is no address or network of a proxy: {error}.",
                hint="Set SPANSEEK_TRUSTED_PROXIES to addresses such as 10.0.0.7, or networks such as 10.0.0.0/8.",
                field="trusted_proxies",
            ) from error
    return proxies


def prefix_of(setting: str) -> str:
    """The prefix of a setting, without a slash at its end; empty for none. Raises ``InvalidInput`` for no path.

    >>> prefix_of("/spanseek/"), prefix_of("/")
    ('/spanseek', '')
    """
    prefix = setting.rstrip("/")
    if prefix and not _is_prefix(prefix):
        raise InvalidInput(
            f"{setting!r} is no path prefix.",
            hint="Set SPANSEEK_ROOT_PATH to one such as /spanseek.",
            field="root_path",
        )
    return prefix


def path_of(scope: Scope) -> str:
    """The path of a request without the prefix.

    >>> path_of({"path": "/spanseek/search", "root_path": "/spanseek"}), path_of({"path": "/search"})
    ('/search', '/search')
    """
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


class PrefixMiddleware:
    """Serves the application under a prefix, whether or not the proxy has cut it off: that of ``X-Forwarded-Prefix``.

    Without the header, or of a client that is no trusted proxy, it is ``prefix``. The prefix alone, without a slash,
    is redirected: the page's relative addresses need the slash.
    """

    def __init__(self, app: ASGIApp, prefix: str, proxies: Sequence[str]) -> None:
        self.app = app
        self._prefix = prefix
        self._proxies = [ip_network(proxy) for proxy in proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, below the prefix."""
        prefix = self._of(scope) if scope["type"] == "http" else ""
        if not prefix:
            await self.app(scope, receive, send)
        elif scope["path"] == prefix:
            await RedirectResponse(f"{prefix}/")(scope, receive, send)
        else:
            path = scope["path"] if scope["path"].startswith(f"{prefix}/") else prefix + scope["path"]
            await self.app({**scope, "root_path": prefix, "path": path}, receive, send)

    def _of(self, scope: Scope) -> str:
        sent = Headers(scope=scope).getlist(HEADER)
        if len(sent) == 1 and self._trusts(scope):
            prefix = sent[0].rstrip("/")
            if not prefix or _is_prefix(prefix):
                return prefix
        return self._prefix

    def _trusts(self, scope: Scope) -> bool:
        client = scope.get("client")
        try:
            return client is not None and any(ip_address(client[0]) in proxy for proxy in self._proxies)
        except ValueError:
            return False


def _is_prefix(path: str) -> bool:
    return len(path) <= _MOST_CHARACTERS and _PREFIX.fullmatch(path) is not None
