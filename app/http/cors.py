"""Cross-origin requests: the origins that settings name may use the API from a browser, and no other.

Without API keys such an origin is let in as well: whoever sets it opens the server to the pages of that site.
"""

import re
from typing import Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from app.http.request_ids import HEADER
from app.http.responses import CURSOR_HEADER
from models.errors import InvalidInput

_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?")
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Seconds for which a browser may remember what it may send.
_MAX_AGE_S: Final = 600


def origins_of(setting: str) -> tuple[str, ...]:
    """The origins of a setting. Raises ``InvalidInput`` for one that is none, such as ``*``.

    >>> origins_of("https://app.example, http://localhost:3000")
    ('https://app.example', 'http://localhost:3000')
    """
    origins = tuple(setting.lower().replace(",", " ").split())
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise InvalidInput(
                f"{origin!r} is no origin of a web page.",
                hint="Set SPANSEEK_CORS_ORIGINS to schemes and hosts, such as https://app.example, without a path; "
                "every origin must be named.",
                field="cors_origins",
            )
    return origins


def add_cors(app: FastAPI, origins: tuple[str, ...]) -> None:
    """Answer preflight requests of these origins, and let their scripts read answers. Without any, do nothing."""
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=_METHODS,
            allow_headers=("Authorization", "Content-Type", "traceparent", "tracestate", HEADER),
            expose_headers=("Retry-After", CURSOR_HEADER, HEADER),
            max_age=_MAX_AGE_S,
        )
