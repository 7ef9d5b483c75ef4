"""The web page at ``/``: static files of ``app/page``, read once when the application is made.

The page's address never changes, and its own addresses are relative: it may lie under a prefix. Its modules and its
style lie under a version, the digest of all files: browsers keep them for a year, and an upgrade never mixes two
versions.
"""

import hashlib
import mimetypes
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

_POLICY: Final = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_YEAR: Final = "public, max-age=31536000, immutable"
_INDEX: Final = "index.html"


@dataclass(frozen=True, slots=True)
class Page:
    """The files of the page by name, and the version under which they are served."""

    contents: dict[str, bytes]
    version: str
    policy: str = _POLICY

    @classmethod
    def load(cls, *origins: str) -> "Page":
        """Read the files of the package. The page may ask these origins beside its own server."""
        names = (
            file
            for file in files("app").joinpath("page").iterdir()
            if file.name.endswith((".html", ".css", ".js", ".svg"))
        )
        contents = {file.name: file.read_bytes() for file in sorted(names, key=lambda file: file.name)}
        digest = hashlib.sha256(b"\0".join(part for name in contents for part in (name.encode(), contents[name])))
        policy = f"{_POLICY}; connect-src 'self' {' '.join(origins)}" if origins else _POLICY
        return cls(contents, digest.hexdigest()[:12], policy)

    def index(self, request: Request) -> Response:
        """The page itself; browsers ask each time whether it is still current."""
        body = self.contents[_INDEX].replace(b"{modules}", self._preloads())
        body = body.replace(b"{version}", self.version.encode())
        return self._response(request, body, "text/html", "no-cache")

    def _preloads(self) -> bytes:
        """Links to all modules: a browser asks for them at once, before it has read what imports them."""
        links = (f'<link rel="modulepreload" href="page/{{version}}/{name}">\n' for name in self.contents)
        return "".join(link for link in links if '.js"' in link).encode()

    def asset(self, request: Request, name: str) -> Response:
        """A module or the style."""
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return self._response(request, self.contents[name], media_type, _YEAR)

    def _response(self, request: Request, body: bytes, media_type: str, caching: str) -> Response:
        # Weak: the middleware may compress the body.
        tag = f'W/"{self.version}"'
        headers = _HEADERS | {"Content-Security-Policy": self.policy, "ETag": tag, "Cache-Control": caching}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=media_type, headers=headers)


def page_router(page: Page) -> APIRouter:
    """The routes of the page. They need no key and are no part of the API."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    @router.get("/docs")
    async def index(request: Request) -> Response:
        return page.index(request)

    @router.get("/page/{version}/{name}")
    async def asset(request: Request, version: str, name: str) -> Response:
        if version != page.version or name == _INDEX or name not in page.contents:
            raise HTTPException(404)
        return page.asset(request, name)

    return router
